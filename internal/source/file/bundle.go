package file

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/source"
)

// Bundle is every object of an input that placements read, typed and with defaults. The objects are read-only: the snapshot
// refers to them.
type Bundle struct {
	Clusters []*clusterv1.ManagedCluster
	// Sets have their stored version, whatever version was read.
	Sets     []*clusterv1beta2.ManagedClusterSet
	Bindings []*clusterv1beta2.ManagedClusterSetBinding
	// Placements are sorted by namespace, then name.
	Placements []*clusterv1beta1.Placement
	// Programs are the compiled placements.
	Programs map[fleet.Key]*program.Program
	// Faults are the reasons why other placements do not compile. Files with such a placement make no bundle, but a hub can
	// hold it.
	Faults map[fleet.Key]field.ErrorList
	// Decisions are the stored slices by owner, whether the placement exists or not, sorted by number, then name.
	Decisions map[fleet.Key][]*clusterv1beta1.PlacementDecision
	Scores    []*clusterv1alpha1.AddOnPlacementScore
	// WorkSets and Works are what is delivered, in the order of the input. No decision depends on them.
	WorkSets []*workv1alpha1.ManifestWorkReplicaSet
	Works    []*workv1.ManifestWork
	// Skipped counts the objects of other kinds, by kind and group.
	Skipped map[string]int
	// Warnings name what was dropped, in the order of the input.
	Warnings []string

	slices []*clusterv1beta1.PlacementDecision
}

// KeyOf names a placement.
func KeyOf(placement *clusterv1beta1.Placement) fleet.Key {
	return fleet.Key{Namespace: placement.Namespace, Name: placement.Name}
}

// expressionHold is the default of --expression-hold of a manager. The flags of the manager of a hub are not known here.
const expressionHold = time.Hour

// Snapshot returns the fleet of the objects at an instant, with the rules of a manager without flags.
func (b *Bundle) Snapshot(now time.Time) *fleet.Snapshot {
	edit := fleet.Empty().Edit()
	for _, cluster := range b.Clusters {
		edit.SetCluster(fleet.NewCluster(cluster))
	}
	for _, set := range b.Sets {
		edit.SetSet(fleet.NewSet(set))
	}
	for _, binding := range b.Bindings {
		if binding.DeletionTimestamp.IsZero() { // a binding that is being deleted does not count
			edit.Bind(binding.Namespace, binding.Name)
		}
	}
	for _, score := range b.Scores {
		edit.SetScore(score.Namespace, fleet.NewScore(score))
	}
	for key, stored := range b.Decisions {
		decided := make([]fleet.Slice, 0, len(stored))
		for _, slice := range stored {
			decided = append(decided, plan.ReadSlice(slice))
		}
		edit.SetSlices(key, decided)
	}
	out := edit.Snapshot().At(now)
	out.Rules = fleet.Rules{KeepHeldEdits: true, HoldUnknownReferences: true, ExpressionHold: expressionHold}
	return out
}

// CompareSlices orders the stored slices of a placement by number, then name. Names without a number come first.
func CompareSlices(a, b *clusterv1beta1.PlacementDecision) int {
	_, first, _ := plan.Owner(a)
	_, second, _ := plan.Owner(b)
	return cmp.Or(cmp.Compare(first, second), cmp.Compare(a.Name, b.Name))
}

// takeSelectors takes the selectors of sets as their controller would: a file may have a status that is older than its spec.
func (b *Bundle) takeSelectors() {
	var clusters *fleet.Snapshot
	for i, set := range b.Sets {
		if set.Status.ClusterSelector == nil || equality.Semantic.DeepEqual(*set.Status.ClusterSelector, set.Spec.ClusterSelector) {
			continue
		}
		if clusters == nil {
			edit := fleet.Empty().Edit()
			for _, cluster := range b.Clusters {
				edit.SetCluster(fleet.NewClusterFromLabels(cluster))
			}
			clusters = edit.Snapshot()
		}
		b.Sets[i] = set.DeepCopy()
		b.Sets[i].Status.ClusterSelector, _ = fleet.TakeSelector(set, func(s *fleet.Set) int { return s.Count(clusters) })
	}
}

// sortAndAssign sorts the objects and assigns each slice to its owner, after everything is read.
func (b *Bundle) sortAndAssign() {
	b.takeSelectors()
	slices.SortFunc(b.Placements, func(x, y *clusterv1beta1.Placement) int { return KeyOf(x).Compare(KeyOf(y)) })
	given := make(map[fleet.Key]struct{}, len(b.Placements))
	for _, placement := range b.Placements {
		given[KeyOf(placement)] = struct{}{}
	}
	exists := func(key fleet.Key) bool { _, ok := given[key]; return ok }
	for _, slice := range b.slices {
		owner := source.OwnerOf(slice, exists)
		b.Decisions[owner] = append(b.Decisions[owner], slice)
	}
	for _, stored := range b.Decisions {
		slices.SortFunc(stored, CompareSlices)
	}
}
