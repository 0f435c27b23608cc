package offline

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/cli/resource"
	"github.com/berth-project/berth/internal/source/file"
)

// Decision is the result for one placement.
type Decision struct {
	Key fleet.Key
	// Placement and slices are what a hub would hold afterwards; slices are by number.
	Placement *clusterv1beta1.Placement
	Slices    []*clusterv1beta1.PlacementDecision
	// hadDecisions is whether decisions were stored before, and sameSpec whether they are of the present spec.
	hadDecisions, sameSpec bool
	// Result is nil when the placement is not decided; skipReason is the reason.
	Result     *engine.Result
	SkipReason string
	// Plan is what would be written.
	Plan plan.Plan
}

// Decide decides every placement of a bundle in order; each reads the decisions of those before.
func Decide(bundle *file.Bundle, now time.Time) []Decision {
	snapshot := bundle.Snapshot(now)
	out := make([]Decision, 0, len(bundle.Placements))
	for _, placement := range bundle.Placements {
		var made Decision
		made, snapshot = decideOne(bundle, snapshot, placement)
		out = append(out, made)
	}
	return out
}

// decideOne decides a placement of a bundle on a snapshot, and returns the snapshot with what was decided.
func decideOne(bundle *file.Bundle, snapshot *fleet.Snapshot, placement *clusterv1beta1.Placement) (Decision, *fleet.Snapshot) {
	key := file.KeyOf(placement)
	made := Decision{Key: key, Placement: placement, Slices: bundle.Decisions[key], SkipReason: SkipReason(placement)}
	made.hadDecisions = len(made.Slices) > 0
	if made.SkipReason != "" {
		return made, snapshot
	}
	past := plan.ReadLedger(placement)
	made.sameSpec = past.SameSpec
	made.Result = engine.Decide(snapshot, key, bundle.Programs[key], bundle.Faults[key], past)
	made.Store(snapshot.Now)
	edit := snapshot.Edit()
	edit.SetSlices(key, made.Result.Slices())
	return made, edit.Snapshot()
}

// SkipReason is why the manager does not decide a placement; "" when it does.
func SkipReason(placement *clusterv1beta1.Placement) string {
	switch resource.StateOf(placement) {
	case resource.StateTerminating:
		return "it is being deleted"
	case resource.StateDisabled:
		return "the annotation " + clusterv1beta1.PlacementDisableAnnotation + " disables it"
	default:
		return ""
	}
}

// Store writes the result to the objects in memory, as the manager would to those on a hub.
func (d *Decision) Store(now time.Time) {
	stored := plan.Stored{Placement: d.Placement, Slices: d.Slices}
	if d.Placement.UID == "" {
		// A manifest in the place of a placement that is on a hub stands for it.
		stored.Placement = d.Placement.DeepCopy()
		stored.Placement.UID = ownerUID(d.Placement, d.Slices)
	}
	d.Plan = plan.Diff(d.Result, stored, now)
	d.Placement, d.Slices = applyPlan(d.Plan, plan.Stored{Placement: d.Placement, Slices: d.Slices})
}

// ownerUID returns the UID of the placement in the owner references of slices; "" without one.
func ownerUID(placement *clusterv1beta1.Placement, slices []*clusterv1beta1.PlacementDecision) types.UID {
	for _, slice := range slices {
		owner := metav1.GetControllerOfNoCopy(slice)
		if owner != nil && owner.Kind == "Placement" && owner.Name == placement.Name {
			return owner.UID
		}
	}
	return ""
}

// Fix returns the fewest changes that would make the placement select a cluster, now that its decision is stored.
func (d Decision) Fix(cluster string) (explain.Fix, error) {
	env, err := celenv.New()
	if err != nil {
		return explain.Fix{}, fmt.Errorf("preparing expressions: %w", err)
	}
	before := d.Result.Trace.Snapshot
	edit := before.Edit()
	edit.SetSlices(d.Key, d.Result.Slices())
	after := explain.Case{
		Snapshot: edit.Snapshot().At(before.Now), Placement: d.Placement, Past: plan.ReadLedger(d.Placement), Env: env,
	}
	id, _ := after.Snapshot.ID(cluster)
	return after.Fix(id), nil
}
