package enginetest

import (
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/program"
)

// invalid reports whether a spec is invalid.
func invalid(placement *clusterv1beta1.Placement, env *celenv.Env) bool {
	spec := placement.Spec
	if len(placement.Name) > 63 || spec.NumberOfClusters != nil && *spec.NumberOfClusters < 0 {
		return true
	}
	var texts []string
	for _, predicate := range spec.Predicates {
		texts = append(texts, predicate.RequiredClusterSelector.CelSelector.CelExpressions...)
	}
	for _, tier := range spec.Tiers {
		texts = append(texts, tier.ClusterSelector.CelSelector.CelExpressions...)
	}
	for _, group := range spec.DecisionStrategy.GroupStrategy.DecisionGroups {
		texts = append(texts, group.ClusterSelector.CelSelector.CelExpressions...)
	}
	if len(texts) > 256 || len([]rune(strings.Join(texts, ""))) > 65_536 {
		return true
	}
	for _, predicate := range spec.Predicates {
		if invalidSelector(predicate.RequiredClusterSelector, env) {
			return true
		}
	}
	return slices.ContainsFunc(spec.Tolerations, invalidToleration) || invalidPolicy(spec.PrioritizerPolicy) ||
		invalidStrategy(spec.DecisionStrategy.GroupStrategy, env) || invalidTiers(spec.Tiers, env) || invalidBudget(spec) ||
		invalidSpread(spec.SpreadPolicy) || invalidOrder(spec)
}

// faultMessage returns the text of the condition for an invalid spec, which comes from the engine.
func faultMessage(placement *clusterv1beta1.Placement, env *celenv.Env) string {
	_, faults := program.Compile(placement, env)
	var out []string
	for _, fault := range faults {
		plugin := "Placement"
		switch {
		case strings.HasPrefix(fault.Field, "spec.predicates"):
			plugin = "Predicate"
		case strings.HasPrefix(fault.Field, "spec.tolerations"):
			plugin = "TaintToleration"
		case strings.HasPrefix(fault.Field, "spec.prioritizerPolicy"):
			plugin = "Prioritizer"
		case strings.HasPrefix(fault.Field, "spec.decisionStrategy"):
			plugin = "DecisionGroup"
		case strings.HasPrefix(fault.Field, "spec.tiers"):
			plugin = "Tiers"
		case strings.HasPrefix(fault.Field, "spec.spreadPolicy"):
			plugin = "Spread"
		case strings.HasPrefix(fault.Field, "spec.failbackPolicy"):
			plugin = "Failback"
		case strings.HasPrefix(fault.Field, "spec.disruptionPolicy"):
			plugin = "Disruption"
		}
		out = append(out, plugin+":"+fault.Error())
	}
	return strings.Join(out, "; ")
}

func invalidLabels(selector metav1.LabelSelector) bool {
	_, err := metav1.LabelSelectorAsSelector(&selector)
	return err != nil
}

func invalidClaims(selector clusterv1beta1.ClusterClaimSelector) bool {
	if _, nameless := selector.MatchClaims[""]; nameless {
		return true
	}
	for _, want := range selector.MatchExpressions {
		switch want.Operator {
		case "In", "NotIn":
			if len(want.Values) == 0 {
				return true
			}
		case "Exists", "DoesNotExist":
			if len(want.Values) > 0 {
				return true
			}
		default:
			return true
		}
		if want.Key == "" {
			return true
		}
	}
	return false
}

func invalidToleration(toleration clusterv1beta1.Toleration) bool {
	switch toleration.Operator {
	case "", "Equal":
		if toleration.Key == "" {
			return true
		}
	case "Exists":
		if toleration.Value != "" {
			return true
		}
	default:
		return true
	}
	return !slices.Contains([]string{"", "NoSelect", "PreferNoSelect", "NoSelectIfNew"}, string(toleration.Effect))
}

func invalidPolicy(policy clusterv1beta1.PrioritizerPolicy) bool {
	if !slices.Contains([]string{"", "Additive", "Exact"}, string(policy.Mode)) {
		return true
	}
	listed := map[string]bool{}
	for _, config := range policy.Configurations {
		if config.Weight != nil && (*config.Weight < -10 || *config.Weight > 10) || config.ScoreCoordinate == nil {
			return true
		}
		name, ok := coordinate(*config.ScoreCoordinate)
		if !ok || listed[name] {
			return true
		}
		listed[name] = true
	}
	return false
}

func coordinate(in clusterv1beta1.ScoreCoordinate) (name string, ok bool) {
	switch in.Type {
	case "", "BuiltIn":
		known := []string{"Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory", "Spread"}
		return in.BuiltIn, slices.Contains(known, in.BuiltIn)
	case "AddOn":
		if in.AddOn == nil || in.AddOn.ResourceName == "" || in.AddOn.ScoreName == "" {
			return "", false
		}
		return in.AddOn.ResourceName + "/" + in.AddOn.ScoreName, true
	default:
		return "", false
	}
}

var groupName = regexp.MustCompile(`^[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]$`)

func invalidStrategy(strategy clusterv1beta1.GroupStrategy, env *celenv.Env) bool {
	for _, group := range strategy.DecisionGroups {
		if !groupName.MatchString(group.GroupName) || invalidSelector(asSelector(group.ClusterSelector), env) {
			return true
		}
	}
	of := strategy.ClustersPerDecisionGroup
	if of.Type == intstr.Int {
		return false
	}
	number, err := strconv.Atoi(strings.TrimSuffix(of.StrVal, "%"))
	return err != nil || number < 1 || strings.HasSuffix(of.StrVal, "%") && number > 100
}

// fingerprint is implemented a second time on purpose: it is stored on every slice of every hub, so a change of it moves
// clusters at the next upgrade.
func fingerprint(strategy clusterv1beta1.GroupStrategy) string {
	of := strategy.ClustersPerDecisionGroup
	size := of.StrVal
	if of.Type == intstr.Int {
		size = strconv.Itoa(int(of.IntVal))
	}
	if size == "100%" || of.Type == intstr.Int && of.IntVal <= 0 {
		size = "all"
	}
	text := &strings.Builder{}
	fmt.Fprintf(text, "%s\n", size)
	for _, group := range strategy.DecisionGroups {
		fmt.Fprintf(text, "%q\n", group.GroupName)
		labels := group.ClusterSelector.LabelSelector
		for _, key := range slices.Sorted(maps.Keys(labels.MatchLabels)) {
			fmt.Fprintf(text, " label %q In %q\n", key, []string{labels.MatchLabels[key]})
		}
		for _, want := range labels.MatchExpressions {
			fmt.Fprintf(text, " label %q %s %q\n", want.Key, want.Operator, sorted(want.Values))
		}
		claims := group.ClusterSelector.ClaimSelector
		for _, key := range slices.Sorted(maps.Keys(claims.MatchClaims)) {
			fmt.Fprintf(text, " claim %q In %q\n", key, []string{claims.MatchClaims[key]})
		}
		for _, want := range claims.MatchExpressions {
			fmt.Fprintf(text, " claim %q %s %q\n", want.Key, want.Operator, sorted(want.Values))
		}
		for _, expression := range group.ClusterSelector.CelSelector.CelExpressions {
			fmt.Fprintf(text, " cel %q\n", expression)
		}
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(text.String()))
	return strconv.FormatUint(sum.Sum64(), 16)
}

// sorted returns the distinct values in order.
func sorted(in []string) []string {
	seen := map[string]bool{}
	for _, value := range in {
		seen[value] = true
	}
	return names(seen)
}
