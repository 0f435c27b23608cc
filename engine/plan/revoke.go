package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
)

// WrittenByBerth reports whether Berth wrote a stored slice: it has the annotation of the group strategy, unlike slices of other
// schedulers.
func WrittenByBerth(slice *clusterv1beta1.PlacementDecision) bool {
	return clusterv1beta1.DecisionStrategyHash(slice) != ""
}

// Orphaned reports whether a slice stays when its placement is gone: Berth wrote it and no placement controls it, as after a
// deletion with orphaning. The garbage collector deletes the other slices.
func Orphaned(slice *clusterv1beta1.PlacementDecision) bool {
	return WrittenByBerth(slice) && metav1.GetControllerOf(slice) == nil
}

// Orphans returns the orphaned slices of a placement that are left after a plan, by name.
func Orphans(stored Stored, p Plan) []*clusterv1beta1.PlacementDecision {
	if stored.Placement != nil {
		return nil
	}
	out := slices.DeleteFunc(slices.Clone(stored.Slices), func(slice *clusterv1beta1.PlacementDecision) bool {
		deleted := slices.ContainsFunc(p.Writes, func(w Write) bool { return w.Verb == Delete && w.Slice.Name == slice.Name })
		return deleted || !Orphaned(slice)
	})
	slices.SortFunc(out, byName)
	return out
}

// Revoke returns the writes for a placement that Berth does not decide: it is disabled, being deleted, or gone. It removes
// clusters that the namespace may no longer reach from the slices that Berth wrote, and adds none. It deletes an orphaned slice
// without clusters, and the slices of a placement that is deleted with its slices. Slices of other writers and the status of the
// placement stay as they are.
func Revoke(s *fleet.Snapshot, key fleet.Key, stored Stored) Plan {
	out := Plan{Key: key}
	var fills, deletes []Write
	for _, slice := range slices.SortedFunc(slices.Values(stored.Slices), byName) {
		if !WrittenByBerth(slice) {
			continue
		}
		revoked := engine.Revoked(s, key.Namespace, Clusters(slice))
		left := slices.DeleteFunc(slices.Clone(slice.Status.Decisions), func(entry clusterv1beta1.ClusterDecision) bool {
			return slices.Contains(revoked, entry.ClusterName)
		})
		switch {
		case stored.garbage(slice):
			deletes = append(deletes, Write{Verb: Delete, Slice: slice})
			continue // these clusters were not revoked
		case len(left) == 0 && stored.Placement == nil && Orphaned(slice):
			deletes = append(deletes, Write{Verb: Delete, Slice: slice})
		case len(revoked) > 0:
			next := slice.DeepCopy()
			next.Status.Decisions = left
			fills = append(fills, Write{Verb: UpdateDecisions, Slice: next})
		}
		out.Removed = append(out.Removed, revoked...)
	}
	slices.Sort(out.Removed)
	out.Removed = slices.Compact(out.Removed)
	out.Writes = slices.Concat(fills, deletes)
	return out
}

// garbage reports whether a slice is deleted with its placement: the placement is gone, or its deletion waits for its slices.
func (s Stored) garbage(slice *clusterv1beta1.PlacementDecision) bool {
	return s.ofFormer(slice) || s.Placement != nil && !s.Placement.DeletionTimestamp.IsZero() &&
		slices.Contains(s.Placement.Finalizers, metav1.FinalizerDeleteDependents) && metav1.IsControlledBy(slice, s.Placement)
}
