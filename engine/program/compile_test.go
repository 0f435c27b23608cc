package program_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/program"
)

func TestCompileRefuses(t *testing.T) {
	typed := func(of clusterv1beta1.ScoreCoordinateType) clusterv1beta1.PrioritizerConfig {
		return clusterv1beta1.PrioritizerConfig{ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{Type: of}}
	}
	for name, tc := range map[string]struct {
		placement *enginetest.PlacementBuilder
		want      []string
	}{
		"nothing about the empty spec":  {p(), nil},
		"a name that is no label value": {enginetest.Placement("ns", strings.Repeat("x", 64)), []string{"metadata.name"}},
		"a negative number":             {p().Number(-1), []string{"spec.numberOfClusters"}},
		"an expression that does not compile": {
			p().CEL(`true`, `managedCluster.`),
			[]string{"spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[1]"},
		},
		"an expression that yields no bool": {
			p().CEL(`1 + 1`),
			[]string{"spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]"},
		},
		"a label selector with a bad key": {
			p().Labels("not a key", ""),
			[]string{"spec.predicates[0].requiredClusterSelector.labelSelector.matchLabels[not a key]"},
		},
		"a claim requirement without values": {
			p().Claims(enginetest.Wants("a", "In")),
			[]string{"spec.predicates[0].requiredClusterSelector.claimSelector.matchExpressions[0].values"},
		},
		"an empty key that is not Exists": {p().Tolerate(clusterv1beta1.Toleration{Value: "x"}), []string{"spec.tolerations[0].operator"}},
		"Exists with a value": {
			p().Tolerate(clusterv1beta1.Toleration{Key: "k", Operator: "Exists", Value: "x"}),
			[]string{"spec.tolerations[0].value"},
		},
		"an unknown operator": {
			p().Tolerate(clusterv1beta1.Toleration{Key: "k", Operator: "Maybe"}),
			[]string{"spec.tolerations[0].operator"},
		},
		"an unknown effect": {
			p().Tolerate(clusterv1beta1.Toleration{Key: "k", Effect: "NoExecute"}),
			[]string{"spec.tolerations[0].effect"},
		},
		"an unknown mode":    {p().Mode("Loose"), []string{"spec.prioritizerPolicy.mode"}},
		"a weight beyond 10": {p().BuiltIn("Steady", 11), []string{"spec.prioritizerPolicy.configurations[0].weight"}},
		"a weight below -10": {p().BuiltIn("Steady", -11), []string{"spec.prioritizerPolicy.configurations[0].weight"}},
		"an unknown builtin": {
			p().BuiltIn("Guess", 1),
			[]string{"spec.prioritizerPolicy.configurations[0].scoreCoordinate.builtIn"},
		},
		"a missing coordinate": {
			p().Prioritizer(clusterv1beta1.PrioritizerConfig{}),
			[]string{"spec.prioritizerPolicy.configurations[0].scoreCoordinate"},
		},
		"an add-on without names": {
			p().AddOn("", "", 1),
			[]string{
				"spec.prioritizerPolicy.configurations[0].scoreCoordinate.addOn.resourceName",
				"spec.prioritizerPolicy.configurations[0].scoreCoordinate.addOn.scoreName",
			},
		},
		"an add-on that is not there": {
			p().Prioritizer(typed("AddOn")),
			[]string{"spec.prioritizerPolicy.configurations[0].scoreCoordinate.addOn"},
		},
		"an unknown type": {
			p().Prioritizer(typed("Oracle")),
			[]string{"spec.prioritizerPolicy.configurations[0].scoreCoordinate.type"},
		},
		"17: one coordinate twice": {
			p().AddOn("r", "s", 1).AddOn("r", "s", 2),
			[]string{"spec.prioritizerPolicy.configurations[1].scoreCoordinate"},
		},
		"a builtin twice": {
			p().BuiltIn("Steady", 1).BuiltIn("Steady", 2),
			[]string{"spec.prioritizerPolicy.configurations[1].scoreCoordinate"},
		},
		"Spread twice": {
			p().BuiltIn("Spread", 1).BuiltIn("Spread", 2),
			[]string{"spec.prioritizerPolicy.configurations[1].scoreCoordinate"},
		},
		"a group name of one letter": {
			p().GroupByLabel("x", "a", "b"),
			[]string{"spec.decisionStrategy.groupStrategy.decisionGroups[0].groupName"},
		},
		"a group selector with a bad operator": {
			p().Group("xy",
				clusterv1beta1.GroupClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{
					MatchExpressions: []metav1.LabelSelectorRequirement{enginetest.Wants("a", "Near")},
				}}),
			[]string{"spec.decisionStrategy.groupStrategy.decisionGroups[0].groupClusterSelector.claimSelector.matchExpressions[0].operator"},
		},
		"a group expression that yields no bool": {
			p().Group("xy",
				clusterv1beta1.GroupClusterSelector{CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{"true", "1"}}}),
			[]string{"spec.decisionStrategy.groupStrategy.decisionGroups[0].groupClusterSelector.celSelector.celExpressions[1]"},
		},
		"a length that is no number": {p().PerGroup("abc"), []string{"spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup"}},
		"a length below 0":           {p().PerGroup("-1"), []string{"spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup"}},
		"a length of 0 percent":      {p().PerGroup("0%"), []string{"spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup"}},
		"a length beyond 100 percent": {
			p().PerGroup("101%"),
			[]string{"spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup"},
		},
		"more expressions than are allowed": {p().CEL(slices.Repeat([]string{`true`}, 257)...), []string{"spec"}},
		"longer expressions than are allowed": {
			p().CEL(slices.Repeat([]string{`"` + strings.Repeat("x", 9_400) + `" == ""`}, 7)...),
			[]string{"spec"},
		},
		"as many as are allowed": {p().CEL(slices.Repeat([]string{`true`}, 256)...), nil},
		"every fault at once": {
			p().Number(-1).Mode("Loose"),
			[]string{"spec.numberOfClusters", "spec.prioritizerPolicy.mode"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			compiled, faults := program.Compile(tc.placement.Obj(), enginetest.Env(t))
			var got []string
			for _, fault := range faults {
				got = append(got, fault.Field)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("fields at fault (-want +got):\n%s", diff)
			}
			if (compiled == nil) != (len(tc.want) > 0) {
				t.Errorf("program %v, want one exactly where there is no fault", compiled)
			}
		})
	}
}

func TestWeights(t *testing.T) {
	one := func(name string, weight int64) program.Prioritizer {
		kinds := map[string]program.Kind{"Balance": program.Balance, "Steady": program.Steady, "ResourceAllocatableCPU": program.AllocatableCPU}
		return program.Prioritizer{Kind: kinds[name], Weight: weight}
	}
	unweighed := clusterv1beta1.PrioritizerConfig{ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{BuiltIn: "ResourceAllocatableCPU"}}
	for name, tc := range map[string]struct {
		placement *enginetest.PlacementBuilder
		want      []program.Prioritizer
	}{
		"by default Balance and Steady": {p(), []program.Prioritizer{one("Balance", 1), one("Steady", 1)}},
		"Additive overrides what is listed": {
			p().Mode("Additive").BuiltIn("Steady", 3),
			[]program.Prioritizer{one("Balance", 1), one("Steady", 3)},
		},
		"weight 0 switches a prioritizer off":      {p().BuiltIn("Balance", 0), []program.Prioritizer{one("Steady", 1)}},
		"Exact counts nothing but what is listed":  {p().Mode("Exact").BuiltIn("Balance", -2), []program.Prioritizer{one("Balance", -2)}},
		"Exact with nothing listed counts nothing": {p().Mode("Exact"), nil},
		"an absent weight is 1, an absent type is BuiltIn": {
			p().Mode("Exact").Prioritizer(unweighed),
			[]program.Prioritizer{one("ResourceAllocatableCPU", 1)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := enginetest.Program(t, enginetest.NewState(tc.placement.Obj())).Prioritizers
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("prioritizers (-want +got):\n%s", diff)
			}
		})
	}
}
