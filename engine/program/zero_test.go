package program_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/program"
)

// TestZeroEntriesMeanNothing compiles placements as Go programs write them: an entry of zeros is as good as none.
func TestZeroEntriesMeanNothing(t *testing.T) {
	env, err := celenv.New()
	if err != nil {
		t.Fatal(err)
	}
	empty := metav1.LabelSelectorRequirement{}
	zeroes := map[string]func(*clusterv1beta1.PlacementSpec){
		"a requirement": func(s *clusterv1beta1.PlacementSpec) {
			s.Predicates[0].RequiredClusterSelector.LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{empty, {Values: []string{""}}}
		},
		"a requirement of claims": func(s *clusterv1beta1.PlacementSpec) {
			s.Predicates[0].RequiredClusterSelector.ClaimSelector.MatchExpressions = []metav1.LabelSelectorRequirement{empty}
		},
		"an expression": func(s *clusterv1beta1.PlacementSpec) {
			s.Predicates[0].RequiredClusterSelector.CelSelector.CelExpressions = []string{""}
		},
		"a toleration": func(s *clusterv1beta1.PlacementSpec) {
			s.Tolerations = []clusterv1beta1.Toleration{{}, {Operator: clusterv1beta1.TolerationOpEqual, TolerationSeconds: new(int64)}}
		},
		"a prioritizer": func(s *clusterv1beta1.PlacementSpec) {
			s.PrioritizerPolicy.Configurations = []clusterv1beta1.PrioritizerConfig{
				{ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{}},
				{ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{
					Type:  clusterv1beta1.ScoreCoordinateTypeBuiltIn,
					AddOn: &clusterv1beta1.AddOnScore{},
				}},
			}
		},
	}
	compile := func(change func(*clusterv1beta1.PlacementSpec)) *program.Program {
		placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
		placement.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{}}
		change(&placement.Spec)
		out, faults := program.Compile(placement, env)
		if len(faults) > 0 {
			t.Fatal(faults.ToAggregate())
		}
		return out
	}
	want := compile(func(*clusterv1beta1.PlacementSpec) {})
	for name, change := range zeroes {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, compile(change), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
				t.Errorf("program (-without +with):\n%s", diff)
			}
		})
	}
}
