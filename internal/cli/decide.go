package cli

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source/file"
)

// decision is the result for one placement.
type decision struct {
	key fleet.Key
	// placement and slices are what a hub would hold afterwards; slices are by number.
	placement *clusterv1beta1.Placement
	slices    []*clusterv1beta1.PlacementDecision
	// hadDecisions is whether decisions were stored before.
	hadDecisions bool
	// result is nil when the placement is not decided; skipReason is the reason.
	result     *engine.Result
	skipReason string
	// plan is what would be written.
	plan plan.Plan
}

// decide decides every placement of a bundle in order; each reads the decisions of those before.
func decide(bundle *file.Bundle, now time.Time) []decision {
	snapshot := bundle.Snapshot(now)
	out := make([]decision, 0, len(bundle.Placements))
	for _, placement := range bundle.Placements {
		var made decision
		made, snapshot = decideOne(bundle, snapshot, placement)
		out = append(out, made)
	}
	return out
}

// decideOne decides a placement of a bundle on a snapshot, and returns the snapshot with what was decided.
func decideOne(bundle *file.Bundle, snapshot *fleet.Snapshot, placement *clusterv1beta1.Placement) (decision, *fleet.Snapshot) {
	key := file.KeyOf(placement)
	made := decision{key: key, placement: placement, slices: bundle.Decisions[key], skipReason: skipReason(placement)}
	made.hadDecisions = len(made.slices) > 0
	if made.skipReason != "" {
		return made, snapshot
	}
	made.result = engine.Decide(snapshot, key, bundle.Programs[key], bundle.Faults[key], plan.ReadLedger(placement))
	made.store(snapshot.Now)
	edit := snapshot.Edit()
	edit.SetSlices(key, made.result.Slices())
	return made, edit.Snapshot()
}

// skipReason is why the manager does not decide a placement; "" when it does.
func skipReason(placement *clusterv1beta1.Placement) string {
	switch stateOf(placement) {
	case stateTerminating:
		return "it is being deleted"
	case stateDisabled:
		return "the annotation " + clusterv1beta1.PlacementDisableAnnotation + " disables it"
	default:
		return ""
	}
}

// store writes the result to the objects in memory, as the manager would to those on a hub.
func (d *decision) store(now time.Time) {
	stored := plan.Stored{Placement: d.placement, Slices: d.slices}
	if d.placement.UID == "" {
		// A manifest in the place of a placement that is on a hub stands for it.
		stored.Placement = d.placement.DeepCopy()
		stored.Placement.UID = ownerUID(d.placement, d.slices)
	}
	d.plan = plan.Diff(d.result, stored, now)
	d.placement, d.slices = applyPlan(d.plan, plan.Stored{Placement: d.placement, Slices: d.slices})
}

// ownerUID returns the UID of the placement in the owner references of slices; "" when there is none.
func ownerUID(placement *clusterv1beta1.Placement, slices []*clusterv1beta1.PlacementDecision) types.UID {
	for _, slice := range slices {
		owner := metav1.GetControllerOfNoCopy(slice)
		if owner != nil && owner.Kind == "Placement" && owner.Name == placement.Name {
			return owner.UID
		}
	}
	return ""
}
