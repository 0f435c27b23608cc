package generate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// selectors returns different selectors, each with at least one matching cluster.
func (g *generator) selectors(all []*clusterv1.ManagedCluster, count int) []clusterv1beta1.ClusterSelector {
	known := map[string]bool{}
	out := make([]clusterv1beta1.ClusterSelector, 0, count)
	for i := range count {
		next := g.selector(all[g.IntN(len(all))])
		if known[selectorKey(next)] { // no team has this name, so the selector matches the same clusters
			next.LabelSelector.MatchExpressions = append(next.LabelSelector.MatchExpressions, metav1.LabelSelectorRequirement{
				Key: teamLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{fmt.Sprintf("retired-%04d", i)},
			})
		}
		known[selectorKey(next)] = true
		out = append(out, next)
	}
	return out
}

// selectorKey returns a key that is equal for equal selectors, because JSON sorts the keys of maps.
func selectorKey(selector clusterv1beta1.ClusterSelector) string {
	out, err := json.Marshal(selector)
	if err != nil {
		panic(fmt.Sprintf("generate: writing %+v: %v", selector, err)) // a selector holds only strings
	}
	return string(out)
}

// selector returns a selector that a cluster matches. It has some labels of the cluster, some with more values, sometimes
// a label that the cluster lacks, and sometimes a claim.
func (g *generator) selector(of *clusterv1.ManagedCluster) clusterv1beta1.ClusterSelector {
	var out clusterv1beta1.ClusterSelector
	out.LabelSelector.MatchLabels = map[string]string{stageLabel: of.Labels[stageLabel]}
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(of.Labels)), func(key string) bool { return key == stageLabel })
	g.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	// otherwise two selectors could differ by their order
	for _, key := range slices.Sorted(slices.Values(keys[:g.between(1, min(2, len(keys)))])) {
		out.LabelSelector.MatchExpressions = append(out.LabelSelector.MatchExpressions, g.requirement(key, of.Labels[key]))
	}
	if lacking := featureLabel(g.feature()); g.chance(20) && of.Labels[lacking] == "" {
		out.LabelSelector.MatchExpressions = append(out.LabelSelector.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: lacking, Operator: metav1.LabelSelectorOpDoesNotExist,
		})
	}
	if g.chance(25) {
		claim := of.Status.ClusterClaims[g.IntN(len(of.Status.ClusterClaims))]
		out.ClaimSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: claim.Name, Operator: metav1.LabelSelectorOpExists}}
	}
	return out
}

// requirement returns a requirement that a label meets.
func (g *generator) requirement(key, value string) metav1.LabelSelectorRequirement {
	if g.chance(20) {
		return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpExists}
	}
	values := []string{value}
	if key == regionLabel {
		values = append(values, fmt.Sprintf("region-%02d", g.region()), fmt.Sprintf("region-%02d", g.region()))
	}
	slices.Sort(values)
	return metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: slices.Compact(values)}
}

// placement returns one of the usual kinds. Most placements select a few clusters, some select all, some rank by free
// resources, and some have groups.
func (g *generator) placement(namespace, name string, selector clusterv1beta1.ClusterSelector) *clusterv1beta1.Placement {
	out := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	out.Spec.Predicates = []clusterv1beta1.ClusterPredicate{{RequiredClusterSelector: selector}}
	if g.chance(70) {
		wanted := int32(g.between(1, 10)) //nolint:gosec // at most ten
		out.Spec.NumberOfClusters = &wanted
	}
	if g.chance(30) {
		rankBy(out, clusterv1beta1.PrioritizerResourceAllocatableCPU)
	}
	if g.chance(10) {
		out.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup = intstr.FromInt32(5)
	}
	return out
}

// rankBy adds a built-in prioritizer.
func rankBy(placement *clusterv1beta1.Placement, name string) {
	weight, policy := int32(1), &placement.Spec.PrioritizerPolicy
	policy.Configurations = append(policy.Configurations, clusterv1beta1.PrioritizerConfig{
		Weight: &weight, ScoreCoordinate: &clusterv1beta1.ScoreCoordinate{Type: clusterv1beta1.ScoreCoordinateTypeBuiltIn, BuiltIn: name},
	})
}

// rankWithoutBalance makes a placement rank without Balance, so that it does not read the decisions of other placements.
func rankWithoutBalance(placement *clusterv1beta1.Placement) {
	placement.Spec.PrioritizerPolicy.Mode = clusterv1beta1.PrioritizerPolicyModeExact
	rankBy(placement, clusterv1beta1.PrioritizerSteady)
	rankBy(placement, clusterv1beta1.PrioritizerResourceAllocatableMemory)
}
