package health

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/telemetry"
)

// review says on the set `global` whether the hub is suspected, and ends a suspicion that has no ground any more, once
// that is said: a restart in between finds it as it was.
func (r *reconciler) review(ctx context.Context) error {
	condition, suspended := r.roster.review(r.clock.Now())
	if r.suspended != suspended {
		r.suspended = suspended
		log.FromContext(ctx).Info("the suspicion of the hub has changed", "suspended", suspended, "message", condition.Message)
	}
	if err := r.say(ctx, condition); err != nil {
		return err
	}
	if !suspended {
		r.roster.resume(r.clock.Now())
	}
	return nil
}

// say stores the condition, and tells of it where it changed. Where the set is missing, nobody is told, and the roster
// remembers alone. That there is no suspicion is said only where there has been one.
func (r *reconciler) say(ctx context.Context, condition metav1.Condition) error {
	set := &clusterv1beta2.ManagedClusterSet{}
	err := r.client.Get(ctx, client.ObjectKey{Name: clusterv1beta2.GlobalClusterSetName}, set)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading ManagedClusterSet %s: %w", clusterv1beta2.GlobalClusterSetName, err)
	}
	known := meta.FindStatusCondition(set.Status.Conditions, condition.Type)
	if known == nil && condition.Status == metav1.ConditionFalse {
		return nil
	}
	next := set.DeepCopy()
	condition.ObservedGeneration = set.Generation
	if !meta.SetStatusCondition(&next.Status.Conditions, condition) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, next, fenced(set)); err != nil {
		return fmt.Errorf("writing the status of ManagedClusterSet %s: %w", set.Name, err)
	}
	if known == nil || known.Status != condition.Status {
		event := telemetry.DescribeSuspicion(condition)
		r.recorder.Eventf(next, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
	return nil
}
