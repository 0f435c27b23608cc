package enginetest

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
)

var (
	objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	tierName   = regexp.MustCompile(`^[a-zA-Z0-9]([-A-Za-z0-9_.]*[a-zA-Z0-9])?$`)
	someTime   = regexp.MustCompile(`^[0-9]+[hms]$`)
)

func invalidSelector(selector clusterv1beta1.ClusterSelector, env *celenv.Env) bool {
	for _, text := range selector.CelSelector.CelExpressions {
		if _, err := env.Compile(text); err != nil {
			return true
		}
	}
	wrongName := func(name string) bool { return len(name) > 253 || !objectName.MatchString(name) }
	return len(selector.ClusterNames) > 1000 || slices.ContainsFunc(selector.ClusterNames, wrongName) ||
		invalidLabels(selector.LabelSelector) || invalidClaims(selector.ClaimSelector)
}

func invalidTiers(tiers []clusterv1beta1.ClusterTier, env *celenv.Env) bool {
	known := map[string]bool{}
	for _, tier := range tiers {
		if known[tier.Name] || len(tier.Name) > 63 || !tierName.MatchString(tier.Name) || invalidSelector(tier.ClusterSelector, env) {
			return true
		}
		known[tier.Name] = true
	}
	return len(tiers) > 16
}

// invalidBudget checks the fail-back and disruption policies.
func invalidBudget(spec clusterv1beta1.PlacementSpec) bool {
	if policy := spec.FailbackPolicy; policy != nil && policy.StabilizationSeconds != nil && *policy.StabilizationSeconds < 0 {
		return true
	}
	policy := spec.DisruptionPolicy
	if policy == nil {
		return false
	}
	if of := policy.Interval.Duration; of != 0 && (of < time.Second || of > 168*time.Hour) {
		return true
	}
	if policy.MaxUnavailable.Type == intstr.Int {
		return policy.MaxUnavailable.IntVal < 0
	}
	text := policy.MaxUnavailable.StrVal
	digits, percent := strings.CutSuffix(text, "%")
	number, err := strconv.ParseUint(digits, 10, 64)
	return err != nil || number > math.MaxInt32 || percent && number > 100
}

func invalidSpread(policy clusterv1beta1.SpreadPolicy) bool {
	type topology struct {
		kind clusterv1beta1.TopologyKeyType
		key  string
	}
	wrong := func(known map[topology]bool, t topology) bool {
		again := known[t]
		known[t] = true
		return again || t.key == "" || t.kind != "Label" && t.kind != "Claim"
	}
	apart, even := map[topology]bool{}, map[topology]bool{}
	for _, term := range policy.AntiAffinity {
		if wrong(apart, topology{term.TopologyKeyType, term.TopologyKey}) {
			return true
		}
	}
	for _, term := range policy.SpreadConstraints {
		if wrong(even, topology{term.TopologyKeyType, term.TopologyKey}) || term.MaxSkew < 0 ||
			!slices.Contains([]string{"", "DoNotSchedule", "ScheduleAnyway"}, string(term.WhenUnsatisfiable)) {
			return true
		}
	}
	return len(policy.AntiAffinity) > 8 || len(policy.SpreadConstraints) > 8
}

// invalidOrder checks how decisions are sorted and how often scores are written.
func invalidOrder(spec clusterv1beta1.PlacementSpec) bool {
	if !slices.Contains([]string{"", "ClusterName", "Score"}, string(spec.SortBy)) {
		return true
	}
	limit := spec.ScoreRateLimit
	return limit != "" && (!someTime.MatchString(limit) || len(limit) > 9 || rate(limit) > 8760*time.Hour)
}
