package health

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/telemetry"
)

// reviewFleet reports on the set `global` what concerns all clusters. It ends a disruption that has no ground any more once
// that is stored: a restart in between finds it as it was.
func (r *reconciler) reviewFleet(ctx context.Context) error {
	now := r.clock.Now()
	r.reviewClock(ctx, now)
	condition, suspended := r.cache.reviewDisruption(now)
	if r.suspended != suspended {
		r.suspended = suspended
		log.FromContext(ctx).Info("the health of clusters is suspended or resumed", "suspended", suspended, "message", condition.Message)
	}
	if err := r.reportDisruption(ctx, condition); err != nil {
		return err
	}
	if !suspended {
		r.cache.endDisruption(r.clock.Now())
	}
	return nil
}

// reviewClock reports when the clock of the manager is suspected, and when no more: one event and one line each.
func (r *reconciler) reviewClock(ctx context.Context, now time.Time) {
	direction, found := r.cache.reviewClock(now)
	if direction == r.clockSuspected {
		return
	}
	before := r.clockSuspected
	r.clockSuspected = direction
	event := telemetry.DescribeManagerClock(direction, found.alike, found.recent)
	log.FromContext(ctx).Info("the suspicion of the manager's clock has changed", "suspected", direction != 0, "before", before, "message", event.Note)
	set := &clusterv1beta2.ManagedClusterSet{}
	set.Name = clusterv1beta2.GlobalClusterSetName
	set.APIVersion, set.Kind = clusterv1beta2.GroupVersion.String(), "ManagedClusterSet"
	r.recorder.Eventf(set, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
}

// reportDisruption stores the condition, with an event where its status changed. Where the set is missing, the cache alone
// remembers. That there is no disruption is stored only where there has been one.
func (r *reconciler) reportDisruption(ctx context.Context, condition metav1.Condition) error {
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
