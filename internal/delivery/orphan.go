package delivery

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

// orphanGrace is how long a RolloutControl stays without its set, as one process sees it: a replaced set has the decisions of the one
// before.
const orphanGrace = 24 * time.Hour

// orphan deletes the RolloutControl of a set that has been away for orphanGrace. After is when to look again; 0 for never.
func (r *reconciler) orphan(ctx context.Context, key client.ObjectKey) (after time.Duration, err error) {
	if !r.options.RolloutControls() {
		return 0, nil
	}
	control := &rolloutv1alpha1.RolloutControl{}
	if err := r.client.Get(ctx, key, control); err != nil {
		r.returned(key)
		if client.IgnoreNotFound(err) == nil {
			return 0, nil
		}
		return 0, fmt.Errorf("reading RolloutControl %s: %w", key, err)
	}
	if after := r.untilOrphaned(key, r.options.Clock.Now()); after > 0 {
		return after, nil
	}
	stored := &workv1alpha1.ManifestWorkReplicaSetList{}
	if err := r.live.List(ctx, stored, client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name}); err != nil {
		return 0, fmt.Errorf("looking for ManifestWorkReplicaSet %s: %w", key, err)
	}
	if len(stored.Items) > 0 {
		return orphanGrace, nil
	}
	exact := client.Preconditions{UID: &control.UID, ResourceVersion: &control.ResourceVersion}
	if err := r.client.Delete(ctx, control, exact); client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("deleting RolloutControl %s, whose set is away: %w", key, err)
	}
	log.FromContext(ctx).Info("deleted the RolloutControl of a set that has been away", "control", key.String(), "grace", orphanGrace.String())
	r.returned(key)
	return 0, nil
}

// untilOrphaned notes that a set is away and returns how long its decisions stay; 0 or less once they may go.
func (r *reconciler) untilOrphaned(key client.ObjectKey, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	since, known := r.away[key]
	if !known {
		r.away[key] = now
		return orphanGrace
	}
	return since.Add(orphanGrace).Sub(now)
}

// returned notes that a set is there, or that it has no decisions.
func (r *reconciler) returned(key client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.away, key)
}
