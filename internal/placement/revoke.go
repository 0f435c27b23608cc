package placement

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/log"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/kube/apply"
)

// revoke removes the clusters that a namespace may no longer reach from the slices of a placement that Berth does not decide.
func (r *reconciler) revoke(ctx context.Context, key fleet.Key) error {
	found, ok := r.stored.Unmanaged(key, r.clock.Now())
	if !ok {
		_, total := r.orphans.set(key, 0)
		r.metrics.SetOrphaned(total)
		return nil
	}
	writes := plan.Revoke(found.Snapshot, key, found.Stored)
	written, err := apply.Apply(ctx, r.client, writes, discardWrites{})
	r.metrics.RecordWrites(writes, written.Writes, failure(err))
	if err != nil {
		return err
	}
	if !writes.Empty() {
		log.FromContext(ctx).Info("revoked", "removed", len(writes.Removed), "writes", len(writes.Writes))
	}
	r.recordRevocation(key, found.Stored, writes)
	return nil
}

// recordRevocation emits an event if clusters were revoked, and one if orphaned slices are found for the first time.
func (r *reconciler) recordRevocation(key fleet.Key, stored plan.Stored, writes plan.Plan) {
	orphaned := plan.Orphans(stored, writes)
	first, total := r.orphans.set(key, len(orphaned))
	r.metrics.SetOrphaned(total)
	if event, ok := revokedEvent(key, stored.Placement, writes); ok {
		if stored.Placement != nil {
			r.recorder.Eventf(stored.Placement, writes.Writes[0].Slice, event.Type, event.Reason, event.Action, "%s", event.Note)
		} else {
			r.recorder.Eventf(writes.Writes[0].Slice, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
		}
	}
	if first {
		event := orphanedEvent(key, orphaned)
		r.recorder.Eventf(orphaned[0], nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
}

// orphanCounts counts the orphaned slices of each deleted placement. The zero value is empty.
type orphanCounts struct {
	mu    sync.Mutex
	known map[fleet.Key]int
}

// set sets the count of a deleted placement. It reports whether the placement had no orphaned slices before, and returns the total.
func (o *orphanCounts) set(key fleet.Key, count int) (first bool, total int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil {
		o.known = map[fleet.Key]int{}
	}
	first = count > 0 && o.known[key] == 0
	if o.known[key] = count; count == 0 {
		delete(o.known, key)
	}
	for _, one := range o.known {
		total += one
	}
	return first, total
}

// discardWrites ignores the writes to slices that Berth does not decide. The informers are enough for them: the API server rejects a
// write that was made from an old state, and the placement is reconciled again.
type discardWrites struct{}

func (discardWrites) BeforeWrite(*clusterv1beta1.PlacementDecision) {}
func (discardWrites) AfterWrite(*clusterv1beta1.PlacementDecision)  {}
func (discardWrites) AfterDelete(*clusterv1beta1.PlacementDecision) {}
func (discardWrites) AfterStatusWrite(*clusterv1beta1.Placement)    {}
