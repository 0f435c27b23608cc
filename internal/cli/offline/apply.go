package offline

import (
	"slices"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source/file"
)

// applyPlan returns what is stored after a plan: each write changes the part of an object that it would change on a
// server, and nothing else. What was stored before stays as it is.
func applyPlan(p plan.Plan, before plan.Stored) (*clusterv1beta1.Placement, []*clusterv1beta1.PlacementDecision) {
	placement := before.Placement
	stored := make(map[string]*clusterv1beta1.PlacementDecision, len(before.Slices))
	for _, slice := range before.Slices {
		stored[slice.Name] = slice
	}
	for _, write := range p.Writes {
		switch write.Verb {
		case plan.Create:
			stored[write.Slice.Name] = write.Slice
		case plan.UpdateDecisions:
			next := stored[write.Slice.Name].DeepCopy()
			next.Status = write.Slice.Status
			stored[next.Name] = next
		case plan.UpdateMetadata:
			next := stored[write.Slice.Name].DeepCopy()
			next.Labels, next.Annotations = write.Slice.Labels, write.Slice.Annotations
			next.OwnerReferences = write.Slice.OwnerReferences
			stored[next.Name] = next
		case plan.Delete:
			delete(stored, write.Slice.Name)
		case plan.UpdateBudget, plan.UpdateStatus:
			placement = placement.DeepCopy()
			placement.Status = write.Placement.Status
		}
	}
	after := make([]*clusterv1beta1.PlacementDecision, 0, len(stored))
	for _, slice := range stored {
		after = append(after, slice)
	}
	slices.SortFunc(after, file.CompareSlices)
	return placement, after
}
