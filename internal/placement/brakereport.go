package placement

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/placement/brake"
)

// brakeReporter writes the conditions of brakes into sets.
type brakeReporter struct {
	brake    *brake.Brake
	client   client.Client
	recorder events.EventRecorder
}

// report writes the conditions of the brakes of a set, if they have changed. A set that does not exist is left out.
func (b *brakeReporter) report(ctx context.Context, name string) error {
	conditions := b.brake.Conditions(name)
	if len(conditions) == 0 {
		return nil
	}
	set := &clusterv1beta2.ManagedClusterSet{}
	if err := b.client.Get(ctx, client.ObjectKey{Name: name}, set); err != nil {
		return fmt.Errorf("reading ManagedClusterSet %s: %w", name, err)
	}
	next := set.DeepCopy()
	for _, condition := range conditions {
		condition.ObservedGeneration = set.Generation
		if meta.FindStatusCondition(set.Status.Conditions, condition.Type) == nil && condition.Status == metav1.ConditionFalse {
			continue // it ended before it was written
		}
		meta.SetStatusCondition(&next.Status.Conditions, condition)
	}
	if equality.Semantic.DeepEqual(next.Status, set.Status) {
		return nil
	}
	if err := b.client.Status().Patch(ctx, next, apply.Fenced(set)); err != nil {
		return fmt.Errorf("writing the status of ManagedClusterSet %s: %w", name, err)
	}
	for _, condition := range conditions {
		known := meta.FindStatusCondition(set.Status.Conditions, condition.Type)
		if known != nil && known.Status == condition.Status {
			continue
		}
		kind, what := corev1.EventTypeNormal, "evictions go on"
		if condition.Status == metav1.ConditionTrue {
			kind, what = corev1.EventTypeWarning, "WARNING: evictions are stopped"
		}
		log.FromContext(ctx).Info(what, "set", name, "condition", condition.Type, "message", condition.Message)
		b.recorder.Eventf(next, nil, kind, condition.Reason, "Evict", "%s", condition.Message)
	}
	return nil
}
