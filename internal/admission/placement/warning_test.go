package placement_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/admission/placement"
)

func TestWarningsOfPartsWithoutEffect(t *testing.T) {
	type spec = clusterv1beta1.PlacementSpec
	region := clusterv1beta1.SpreadConstraintsTerm{TopologyKey: "region", TopologyKeyType: "Label"}
	hard := region
	hard.TopologyKey, hard.WhenUnsatisfiable = "zone", clusterv1beta1.DoNotSchedule
	tier := func(name string, selector clusterv1beta1.ClusterSelector) clusterv1beta1.ClusterTier {
		return clusterv1beta1.ClusterTier{Name: name, ClusterSelector: selector}
	}
	eu := clusterv1beta1.ClusterSelector{ClusterNames: []string{"eu"}}
	none := clusterv1beta1.ClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{MatchClaims: map[string]string{"a": "b"}}}
	none.ClaimSelector.MatchExpressions = append(none.ClaimSelector.MatchExpressions, enginetest.Wants("a", "DoesNotExist"))
	spread := p().BuiltIn("Steady", 1).BuiltIn("Spread", 1).Obj().Spec.PrioritizerPolicy
	for name, tc := range map[string]struct {
		spec func(*spec)
		want []string
	}{
		"tiers of which the last takes the rest": {func(s *spec) {
			s.Tiers = []clusterv1beta1.ClusterTier{tier("a", eu), tier("b", clusterv1beta1.ClusterSelector{})}
			s.FailbackPolicy = &clusterv1beta1.FailbackPolicy{}
		}, nil},
		"tiers after a tier for all the rest": {func(s *spec) {
			s.Tiers = []clusterv1beta1.ClusterTier{
				tier("a", eu), tier("b", clusterv1beta1.ClusterSelector{}), tier("c", eu),
				tier("d", clusterv1beta1.ClusterSelector{}),
			}
		}, []string{"spec.tiers[1] matches all remaining clusters, so the tiers after it are empty"}},
		"a tier that matches no cluster": {func(s *spec) { s.Tiers = []clusterv1beta1.ClusterTier{tier("a", eu), tier("b", none)} }, []string{
			"spec.tiers[1] matches no cluster, since no cluster can meet both claim a=b and claim a does not exist",
		}},
		"failing back to no tier": {
			func(s *spec) { s.FailbackPolicy = &clusterv1beta1.FailbackPolicy{} },
			[]string{"spec.failbackPolicy has no effect without spec.tiers"},
		},
		"soft constraints where all clusters are selected": {
			func(s *spec) { s.SpreadPolicy.SpreadConstraints = []clusterv1beta1.SpreadConstraintsTerm{hard, region} },
			[]string{"spec.spreadPolicy.spreadConstraints[1] has no effect without spec.numberOfClusters: every cluster " +
				"that qualifies is selected; " +
				"DoNotSchedule selects fewer"},
		},
		"soft constraints where a number is": {func(s *spec) {
			s.NumberOfClusters, s.PrioritizerPolicy = new(int32(3)), spread
			s.SpreadPolicy.SpreadConstraints = []clusterv1beta1.SpreadConstraintsTerm{region}
		}, nil},
		"the prioritizer Spread over nothing": {
			func(s *spec) { s.PrioritizerPolicy = spread },
			[]string{"spec.prioritizerPolicy.configurations[1]: the prioritizer Spread has no effect without spec.spreadPolicy.spreadConstraints"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := p().Obj()
			tc.spec(&object.Spec)
			compiled, err := placement.Validate(nil, object, enginetest.Env(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, placement.Warnings(object, compiled, sets.New("dev"))); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEditThatLosesClustersIsWarnedOf(t *testing.T) {
	const held = "this edit leaves none of 20 selected clusters; they stay until it is confirmed: " +
		"kubectl berth holds release placement/p -n team --reason WHY"
	confirmed := func(key, value string) map[string]string { return map[string]string{key: value} }
	for name, tc := range map[string]struct {
		lost, selected int
		then           int
		unknown, holds bool
		referenced     bool
		number         *int32
		annotations    map[string]string
		want           []string
	}{
		"nothing is lost":        {selected: 20},
		"a new placement":        {unknown: true, lost: 1, selected: 1},
		"all are lost":           {lost: 20, selected: 20, want: []string{"this edit leaves none of 20 selected clusters"}},
		"all are lost, and held": {lost: 20, selected: 20, holds: true, want: []string{held}},
		"all are exchanged, which is not held": {
			lost: 20, selected: 20, then: 3, holds: true,
			want: []string{"this edit takes away all 20 selected clusters, for 3 others"},
		},
		"a name is unknown, and held": {
			lost: 20, selected: 20, then: 3, referenced: true,
			want: []string{"this edit names what no cluster in reach has; the 20 selected clusters stay until a cluster has it, or: " +
				"kubectl berth holds release placement/p -n team --hold Reference --reason WHY"},
		},
		"the only one is lost": {lost: 1, selected: 1, want: []string{"this edit leaves none of 1 selected clusters"}},
		"more than half": {
			lost: 11, selected: 20, holds: true,
			want: []string{"this edit takes away 11 of 20 selected clusters"},
		},
		"half":                    {lost: 10, selected: 20},
		"more than half of three": {lost: 2, selected: 3},
		"none is wanted": {
			lost: 20, selected: 20, holds: true, number: new(int32(0)),
			want: []string{"this edit leaves none of 20 selected clusters"},
		},
		"it is confirmed in the same write": {
			lost: 20, selected: 20, holds: true,
			annotations: confirmed("berth-project.io/confirm-empty", "true"),
			want: []string{"this edit leaves none of 20 selected clusters, and is followed, since the annotation berth-project.io/confirm-empty " +
				"confirms it; remove the annotation afterwards, since it confirms every later edit too"},
		},
		"another generation is confirmed": {
			lost: 20, selected: 20, holds: true,
			annotations: confirmed("berth-project.io/confirmed-generation", "7"), want: []string{held},
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := p().Obj()
			object.Spec.NumberOfClusters, object.Annotations = tc.number, tc.annotations
			edits := placement.Edits{Held: tc.holds, Lost: func(*clusterv1beta1.Placement, *program.Program) (int, int, int, bool) {
				return tc.lost, tc.selected, tc.then, !tc.unknown
			}, HeldByReference: func(*clusterv1beta1.Placement, *program.Program) bool { return tc.referenced }}
			if diff := cmp.Diff(tc.want, edits.Warnings(object, &program.Program{})); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
