package health

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/apply"
)

// reviewFleet writes the conditions of the set `global`. It ends a disruption only after its end is stored, so that a restart in between
// restores it. If the set is missing, the state is in the cache alone.
func (r *reconciler) reviewFleet(ctx context.Context) error {
	now := r.clock.Now()
	r.reviewClock(ctx, now)
	set, err := r.globalSet(ctx)
	if err != nil {
		return err
	}
	if err := r.decideUnjoined(ctx, findUnjoined(set)); err != nil {
		return err
	}
	condition, suspended := r.cache.reviewDisruption(now)
	if r.suspended != suspended {
		r.suspended = suspended
		log.FromContext(ctx).Info("health reporting is suspended or resumed", "suspended", suspended, "message", condition.Message)
	}
	if err := r.report(ctx, set, condition); err != nil {
		return err
	}
	if !suspended {
		r.cache.endDisruption(r.clock.Now())
	}
	if !r.cache.hasReleasable() {
		r.cache.endRelease()
	}
	if r.cache.endFirstPass() && r.tainted != nil {
		close(r.tainted)
		r.tainted = nil
	}
	return nil
}

// globalSet returns the set `global`, or a set without a name if it is missing.
func (r *reconciler) globalSet(ctx context.Context) (*clusterv1beta2.ManagedClusterSet, error) {
	set := &clusterv1beta2.ManagedClusterSet{}
	err := r.client.Get(ctx, client.ObjectKey{Name: clusterv1beta2.GlobalClusterSetName}, set)
	if apierrors.IsNotFound(err) {
		return &clusterv1beta2.ManagedClusterSet{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ManagedClusterSet %s: %w", clusterv1beta2.GlobalClusterSetName, err)
	}
	return set, nil
}

// reviewClock emits an event and a log line when the clock of the manager starts or stops being wrong.
func (r *reconciler) reviewClock(ctx context.Context, now time.Time) {
	direction, found := r.cache.reviewClock(now)
	if direction == r.clockSuspected {
		return
	}
	before := r.clockSuspected
	r.clockSuspected = direction
	event := managerClockEvent(direction, found.sameDirection, found.recent)
	log.FromContext(ctx).Info("the trust in the clock of the manager has changed", "suspected", direction != 0, "before", before, "message",
		event.Note)
	set := &clusterv1beta2.ManagedClusterSet{}
	set.Name = clusterv1beta2.GlobalClusterSetName
	set.APIVersion, set.Kind = clusterv1beta2.GroupVersion.String(), "ManagedClusterSet"
	r.recorder.Eventf(set, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
}

// report stores the conditions, and emits an event if the disruption begins or ends. The absence of a disruption is stored only after
// there has been one.
func (r *reconciler) report(ctx context.Context, set *clusterv1beta2.ManagedClusterSet, disruption metav1.Condition) error {
	if set.Name == "" {
		return nil
	}
	next := set.DeepCopy()
	known := meta.FindStatusCondition(set.Status.Conditions, disruption.Type)
	if known != nil || disruption.Status == metav1.ConditionTrue {
		disruption.ObservedGeneration = set.Generation
		meta.SetStatusCondition(&next.Status.Conditions, disruption)
	}
	unjoined, store := r.unjoinedCondition(findUnjoined(set))
	if store {
		unjoined.ObservedGeneration, unjoined.LastTransitionTime = set.Generation, stamp(r.clock.Now())
		meta.SetStatusCondition(&next.Status.Conditions, unjoined)
	}
	if equality.Semantic.DeepEqual(set.Status.Conditions, next.Status.Conditions) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, next, apply.Fenced(set)); err != nil {
		return fmt.Errorf("writing the status of ManagedClusterSet %s: %w", set.Name, err)
	}
	if known == nil && disruption.Status == metav1.ConditionTrue || known != nil && known.Status != disruption.Status {
		event := suspensionEvent(disruption)
		r.recorder.Eventf(next, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
	return nil
}
