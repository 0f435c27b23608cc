package file

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// Objects are the objects of a hub as they were listed: in stored versions, with defaults, in any order.
type Objects struct {
	Clusters   []*clusterv1.ManagedCluster
	Sets       []*clusterv1beta2.ManagedClusterSet
	Bindings   []*clusterv1beta2.ManagedClusterSetBinding
	Placements []*clusterv1beta1.Placement
	Slices     []*clusterv1beta1.PlacementDecision
	Scores     []*clusterv1alpha1.AddOnPlacementScore
	WorkSets   []*workv1alpha1.ManifestWorkReplicaSet
	Works      []*workv1.ManifestWork
}

// NewBundle returns a bundle without compiled placements. It cannot be decided.
func NewBundle(objects Objects) *Bundle {
	out := &Bundle{
		Clusters: objects.Clusters, Sets: objects.Sets, Bindings: objects.Bindings,
		Placements: slices.Clone(objects.Placements), Scores: objects.Scores, slices: objects.Slices,
		WorkSets: objects.WorkSets, Works: objects.Works,
		Programs: map[fleet.Key]*program.Program{}, Decisions: map[fleet.Key][]*clusterv1beta1.PlacementDecision{},
		Faults: map[fleet.Key]field.ErrorList{}, Skipped: map[string]int{},
	}
	out.sortAndAssign()
	return out
}

// NewCompiledBundle returns the bundle of the objects of a hub. Unlike Load it accepts placements that do not compile, since
// a hub can hold them.
func NewCompiledBundle(objects Objects) (*Bundle, error) { return Compile(NewBundle(objects)) }

// Compile returns a bundle with its placements compiled. The given one does not change.
func Compile(in *Bundle) (*Bundle, error) {
	env, err := celenv.New()
	if err != nil {
		return nil, fmt.Errorf("preparing expressions: %w", err)
	}
	out := *in
	out.Programs, out.Faults = map[fleet.Key]*program.Program{}, map[fleet.Key]field.ErrorList{}
	for _, placement := range out.Placements {
		made, faults := program.Compile(placement, env)
		if len(faults) > 0 {
			out.Faults[KeyOf(placement)] = faults
			continue
		}
		out.Programs[KeyOf(placement)] = made
	}
	return &out, nil
}
