package program

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
)

// Go programs write the zero value of a struct where they mean no entry, and existing webhooks accept it. The functions of this file leave
// such entries out of lists. An entry with anything in it is checked as it is.

// nonZeroRequirements leaves out requirements without a key, an operator and a value.
func nonZeroRequirements(in []metav1.LabelSelectorRequirement) []metav1.LabelSelectorRequirement {
	return without(in, func(e metav1.LabelSelectorRequirement) bool {
		return e.Key == "" && e.Operator == "" && !slices.ContainsFunc(e.Values, func(value string) bool { return value != "" })
	})
}

// nonZeroSelector leaves out empty requirements and expressions.
func nonZeroSelector(in clusterv1beta1.ClusterSelector) clusterv1beta1.ClusterSelector {
	in.LabelSelector.MatchExpressions = nonZeroRequirements(in.LabelSelector.MatchExpressions)
	in.ClaimSelector.MatchExpressions = nonZeroRequirements(in.ClaimSelector.MatchExpressions)
	in.CelSelector.CelExpressions = without(in.CelSelector.CelExpressions, func(text string) bool { return text == "" })
	return in
}

// nonZeroTolerations leaves out tolerations that tolerate nothing. The server defaults an absent operator to Equal.
func nonZeroTolerations(in []clusterv1beta1.Toleration) []clusterv1beta1.Toleration {
	return without(in, func(t clusterv1beta1.Toleration) bool {
		return t.Key == "" && t.Value == "" && t.Effect == "" && (t.Operator == "" || t.Operator == clusterv1beta1.TolerationOpEqual)
	})
}

// nonZeroConfigurations leaves out prioritizers without a name. The server defaults an absent type to BuiltIn.
func nonZeroConfigurations(in []clusterv1beta1.PrioritizerConfig) []clusterv1beta1.PrioritizerConfig {
	return without(in, func(c clusterv1beta1.PrioritizerConfig) bool {
		at := c.ScoreCoordinate
		return at != nil && (at.Type == "" || at.Type == clusterv1beta1.ScoreCoordinateTypeBuiltIn) && at.BuiltIn == "" &&
			(at.AddOn == nil || *at.AddOn == clusterv1beta1.AddOnScore{})
	})
}

// without returns the entries that are not zero. It does not change the list.
func without[T any](in []T, zero func(T) bool) []T {
	if !slices.ContainsFunc(in, zero) {
		return in
	}
	return slices.DeleteFunc(slices.Clone(in), zero)
}
