package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/suggest"
)

// unknownReference is a text about something that a spec names and no cluster in reach has, and how the spec reads without it.
type unknownReference struct {
	text, hint string
	remove     func(spec *clusterv1beta1.PlacementSpec)
}

// judgedReferences returns what was stored about the references of the present spec, and whether they are looked at: the spec is new, or they were
// unknown when it was.
func (r *run) judgedReferences() (stored string, look bool) {
	placement := r.w.Placements[r.key]
	found := meta.FindStatusCondition(placement.Status.Conditions, "PlacementMisconfigured")
	if found != nil && found.ObservedGeneration == placement.Generation && (found.Reason == "UnknownReference" || found.Reason == "ReferenceHeld") {
		stored = found.Message
	}
	return stored, !r.memory.sameSpec || stored != ""
}

// unknownReferences returns what the spec names and no cluster in reach has, each once.
func (v *view) unknownReferences() []unknownReference {
	var out []unknownReference
	add := func(one unknownReference) {
		if !slices.ContainsFunc(out, func(other unknownReference) bool { return other.text == one.text }) {
			out = append(out, one)
		}
	}
	for _, name := range v.spec.ClusterSets {
		if len(v.scope.valid) > 0 && !slices.Contains(v.scope.valid, name) {
			hint := ""
			if near := suggest.Nearest(name, v.scope.valid); near != "" {
				hint = fmt.Sprintf(" (%q is)", near)
			}
			add(unknownReference{fmt.Sprintf("ClusterSets:no ManagedClusterSet %q is bound to the namespace", name), hint, func(spec *clusterv1beta1.PlacementSpec) {
				spec.ClusterSets = slices.DeleteFunc(spec.ClusterSets, func(other string) bool { return other == name })
			}})
		}
	}
	if len(v.scope.candidates) == 0 || len(v.scope.problems) > 0 {
		return out
	}
	for i, predicate := range v.spec.Predicates {
		v.inSelector("Predicate:", predicate.RequiredClusterSelector, add, func(spec *clusterv1beta1.PlacementSpec) *clusterv1beta1.ClusterSelector {
			return &spec.Predicates[i].RequiredClusterSelector
		})
	}
	for i, tier := range v.spec.Tiers {
		v.inSelector("Tiers:", tier.ClusterSelector, add, func(spec *clusterv1beta1.PlacementSpec) *clusterv1beta1.ClusterSelector {
			return &spec.Tiers[i].ClusterSelector
		})
	}
	v.inSpread(add)
	v.inScores(add)
	return out
}

// have counts the clusters in reach by the keys of their labels or claims.
func (v *view) have(claims bool) map[string]int {
	out := map[string]int{}
	for name := range v.scope.candidates {
		if !claims {
			for key := range v.w.Clusters[name].Labels {
				out[key]++
			}
			continue
		}
		seen := map[string]bool{}
		for _, claim := range v.w.Clusters[name].Status.ClusterClaims {
			if !seen[claim.Name] {
				out[claim.Name]++
			}
			seen[claim.Name] = true
		}
	}
	return out
}

func hintOf(key string, have map[string]int) string {
	if near := suggest.Nearest(key, slices.Sorted(maps.Keys(have))); near != "" {
		return fmt.Sprintf(" (%d have %q)", have[near], near)
	}
	return ""
}

// inSelector adds what a selector names. At returns the selector in a spec.
func (v *view) inSelector(
	plugin string, of clusterv1beta1.ClusterSelector, add func(unknownReference), at func(*clusterv1beta1.PlacementSpec) *clusterv1beta1.ClusterSelector,
) {
	if len(of.ClusterNames) > 0 && !slices.ContainsFunc(of.ClusterNames, func(name string) bool { return v.scope.candidates[name] }) {
		names := slices.Compact(slices.Sorted(slices.Values(of.ClusterNames)))
		add(unknownReference{
			fmt.Sprintf("%sno cluster in reach has one of the %d names, such as %q", plugin, len(names), names[0]), "",
			func(spec *clusterv1beta1.PlacementSpec) { at(spec).ClusterNames = nil },
		})
	}
	key := func(what, key string, claims bool, remove func(*clusterv1beta1.ClusterSelector)) {
		have := v.have(claims)
		if have[key] == 0 {
			add(unknownReference{
				fmt.Sprintf("%sno cluster in reach has the %s %q", plugin, what, key), hintOf(key, have),
				func(spec *clusterv1beta1.PlacementSpec) { remove(at(spec)) },
			})
		}
	}
	another := func(key string) func(metav1.LabelSelectorRequirement) bool {
		return func(r metav1.LabelSelectorRequirement) bool {
			return r.Key == key && (r.Operator == "In" || r.Operator == "Exists")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(of.LabelSelector.MatchLabels)) {
		key("label", name, false, func(s *clusterv1beta1.ClusterSelector) {
			delete(s.LabelSelector.MatchLabels, name)
			s.LabelSelector.MatchExpressions = slices.DeleteFunc(s.LabelSelector.MatchExpressions, another(name))
		})
	}
	for _, r := range of.LabelSelector.MatchExpressions {
		if another(r.Key)(r) {
			key("label", r.Key, false, func(s *clusterv1beta1.ClusterSelector) {
				s.LabelSelector.MatchExpressions = slices.DeleteFunc(s.LabelSelector.MatchExpressions, another(r.Key))
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(of.ClaimSelector.MatchClaims)) {
		key("claim", name, true, func(s *clusterv1beta1.ClusterSelector) {
			delete(s.ClaimSelector.MatchClaims, name)
			s.ClaimSelector.MatchExpressions = slices.DeleteFunc(s.ClaimSelector.MatchExpressions, another(name))
		})
	}
	for _, r := range of.ClaimSelector.MatchExpressions {
		if another(r.Key)(r) {
			key("claim", r.Key, true, func(s *clusterv1beta1.ClusterSelector) {
				s.ClaimSelector.MatchExpressions = slices.DeleteFunc(s.ClaimSelector.MatchExpressions, another(r.Key))
			})
		}
	}
}

// inSpread adds the keys of hard constraints and of anti-affinity.
func (v *view) inSpread(add func(unknownReference)) {
	note := func(key string, claims bool, remove func(*clusterv1beta1.PlacementSpec)) {
		what := map[bool]string{true: "claim", false: "label"}[claims]
		if have := v.have(claims); have[key] == 0 {
			add(unknownReference{fmt.Sprintf("Spread:no cluster in reach has the %s %q", what, key), hintOf(key, have), remove})
		}
	}
	for _, term := range v.spec.SpreadPolicy.SpreadConstraints {
		if term.WhenUnsatisfiable == "DoNotSchedule" {
			note(term.TopologyKey, term.TopologyKeyType == "Claim", func(spec *clusterv1beta1.PlacementSpec) {
				spec.SpreadPolicy = withoutKey(spec.SpreadPolicy, term.TopologyKey, term.TopologyKeyType)
			})
		}
	}
	for _, term := range v.spec.SpreadPolicy.AntiAffinity {
		note(term.TopologyKey, term.TopologyKeyType == "Claim", func(spec *clusterv1beta1.PlacementSpec) {
			spec.SpreadPolicy = withoutKey(spec.SpreadPolicy, term.TopologyKey, term.TopologyKeyType)
		})
	}
}

// withoutKey returns a policy without the hard constraints and anti-affinity of a key.
func withoutKey(of clusterv1beta1.SpreadPolicy, key string, kind clusterv1beta1.TopologyKeyType) clusterv1beta1.SpreadPolicy {
	of.SpreadConstraints = slices.DeleteFunc(slices.Clone(of.SpreadConstraints), func(t clusterv1beta1.SpreadConstraintsTerm) bool {
		return t.TopologyKey == key && t.TopologyKeyType == kind && t.WhenUnsatisfiable == "DoNotSchedule"
	})
	of.AntiAffinity = slices.DeleteFunc(slices.Clone(of.AntiAffinity), func(t clusterv1beta1.AntiAffinityTerm) bool {
		return t.TopologyKey == key && t.TopologyKeyType == kind
	})
	return of
}

// inScores adds the scores of prioritizers. Without one, what is selected goes first.
func (v *view) inScores(add func(unknownReference)) {
	for _, prioritizer := range slices.SortedFunc(maps.Keys(v.weight), byResource) {
		resource, score, addOn := strings.Cut(prioritizer, "/")
		if !addOn || v.weight[prioritizer] == 0 {
			continue
		}
		have := v.haveScores()
		if have[prioritizer] > 0 {
			continue
		}
		add(unknownReference{
			fmt.Sprintf("Prioritizer:no cluster in reach has the score %q in an AddOnPlacementScore %q", score, resource), hintOf(prioritizer, have),
			func(spec *clusterv1beta1.PlacementSpec) {
				steadyInstead(spec.PrioritizerPolicy.Configurations, resource, score)
			},
		})
	}
}

// haveScores counts the clusters in reach by the scores that they have, as resource/score.
func (v *view) haveScores() map[string]int {
	of := map[string]map[string]bool{}
	for key, object := range v.w.Scores {
		for _, item := range object.Status.Scores {
			name := key.Resource + "/" + item.Name
			if of[name] == nil {
				of[name] = map[string]bool{}
			}
			if v.scope.candidates[key.Cluster] {
				of[name][key.Cluster] = true
			}
		}
	}
	out := map[string]int{}
	for name, clusters := range of {
		if len(clusters) > 0 {
			out[name] = len(clusters)
		}
	}
	return out
}

// steadyInstead puts Steady with a high weight in the place of a score.
func steadyInstead(configurations []clusterv1beta1.PrioritizerConfig, resource, score string) {
	for i, config := range configurations {
		if of := config.ScoreCoordinate.AddOn; of != nil && of.ResourceName == resource && of.ScoreName == score {
			steady := clusterv1beta1.ScoreCoordinate{Type: "BuiltIn", BuiltIn: "Steady"}
			configurations[i] = clusterv1beta1.PrioritizerConfig{ScoreCoordinate: &steady, Weight: new(int32(1_000_000))}
		}
	}
}

// referenceTexts returns what is reported of unknown references, each with the hint of when the spec was judged.
func referenceTexts(of []unknownReference, stored string) string {
	var out []string
	for _, one := range of {
		hint := one.hint
		if at := strings.Index(stored, one.text); at >= 0 {
			hint = ""
			if after := stored[at+len(one.text):]; strings.HasPrefix(after, " (") {
				hint = after[:strings.Index(after, ")")+1]
			}
		}
		out = append(out, one.text+hint)
	}
	return strings.Join(out, "; ")
}

// losesBy reports whether a selected cluster leaves that would stay if the spec did not name some things.
func (r *run) losesBy(of []unknownReference, lost map[string]bool) bool {
	if len(lost) == 0 {
		return false
	}
	w := r.w.Copy()
	placement := w.Placements[r.key].DeepCopy()
	for _, one := range of {
		one.remove(&placement.Spec)
	}
	w.Placements[r.key] = placement
	other := (&Oracle{r.env}).run(w, r.key)
	chosen, next, decided := other.choose()
	if !decided {
		return true
	}
	for name := range other.lost(chosen, next) {
		delete(lost, name)
	}
	return len(lost) > 0
}

// lost returns the selected clusters that leave, or would leave without a disruption policy.
func (r *run) lost(chosen map[string]bool, next memory) map[string]bool {
	out := map[string]bool{}
	for name := range r.incumbents {
		if _, held := next.held[name]; held || !chosen[name] {
			out[name] = true
		}
	}
	return out
}
