package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/suggest"
)

// unknownReference is a text about something that a spec names and no cluster in reach has, and how the spec reads without it.
type unknownReference struct {
	text, hint string
	// names are those of a reference to clusters: two of them may have one text.
	names  []string
	remove func(spec *clusterv1beta1.PlacementSpec)
}

// judgedReferences returns what was stored about the references of the present spec, and whether they are looked at: the spec is new, or
// they were unknown when it was.
func (r *run) judgedReferences() (stored string, look bool) {
	placement := r.w.Placements[r.key]
	found := meta.FindStatusCondition(placement.Status.Conditions, "PlacementMisconfigured")
	if found != nil && found.ObservedGeneration == placement.Generation &&
		(found.Reason == "UnknownReference" || found.Reason == "ReferenceHeld") {
		stored = found.Message
	}
	return stored, !r.memory.sameSpec || stored != ""
}

// reported returns PlacementMisconfigured of a decision. Held is set if what is selected stays for it.
func (r *run) reported(first *view, chosen map[string]bool, next memory) (out engine.Condition, held bool) {
	problems := slices.Clone(first.scope.problems)
	stored, look := r.judgedReferences()
	if !look {
		return misconfiguredIs(strings.Join(problems, "; ")), false
	}
	unknown := first.unknownReferences()
	if stored != "" { // what the spec named, and went later, is no mistake of the spec
		unknown = slices.DeleteFunc(unknown, func(one unknownReference) bool { return !strings.Contains(stored, one.text) })
	}
	problem := referenceTexts(unknown, stored)
	switch {
	case problem == "":
		return misconfiguredIs(strings.Join(problems, "; ")), false
	case r.w.HoldReferences && !r.memory.sameSpec && r.losesBy(unknown, r.lost(chosen, next)):
		out = misconfiguredIs(fmt.Sprintf("%s. The %d selected ManagedClusters stay until a cluster has it or the spec changes. "+
			"To follow the spec: kubectl berth holds release placement/%s -n %s --hold Reference --reason WHY",
			problem, r.keep("").Selected, r.key.Name, r.key.Namespace))
		out.Reason = "ReferenceHeld"
		return out, true
	default:
		out = misconfiguredIs(strings.Join(append(problems, problem), "; "))
		out.Reason = "UnknownReference"
		return out, false
	}
}

// unknownReferences returns what the spec names and no cluster in reach has, each once.
func (v *view) unknownReferences() []unknownReference {
	var out []unknownReference
	add := func(one unknownReference) {
		for i, other := range out {
			if other.text == one.text && slices.Equal(other.names, one.names) {
				out[i].remove = func(spec *clusterv1beta1.PlacementSpec) { other.remove(spec); one.remove(spec) }
				return
			}
		}
		out = append(out, one)
	}
	for _, name := range v.spec.ClusterSets {
		if len(v.scope.valid) > 0 && !slices.Contains(v.scope.valid, name) {
			hint := ""
			if near := suggest.Nearest(name, v.scope.valid); near != "" {
				hint = fmt.Sprintf(" (%q is)", near)
			}
			remove := func(spec *clusterv1beta1.PlacementSpec) { spec.ClusterSets = nil } // any bound set may be meant
			add(unknownReference{fmt.Sprintf("ClusterSets:no ManagedClusterSet %q is bound to the namespace", name), hint, nil, remove})
		}
	}
	if len(v.scope.candidates) == 0 || len(v.scope.problems) > 0 {
		return out
	}
	for i, predicate := range v.spec.Predicates {
		at := func(spec *clusterv1beta1.PlacementSpec) *clusterv1beta1.ClusterSelector {
			return &spec.Predicates[i].RequiredClusterSelector
		}
		v.inSelector("Predicate:", predicate.RequiredClusterSelector, add, at)
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

// selectorAt returns a selector in a spec.
type selectorAt func(spec *clusterv1beta1.PlacementSpec) *clusterv1beta1.ClusterSelector

// inSelector adds what a selector names.
func (v *view) inSelector(plugin string, of clusterv1beta1.ClusterSelector, add func(unknownReference), at selectorAt) {
	if len(of.ClusterNames) > 0 && !slices.ContainsFunc(of.ClusterNames, func(name string) bool { return v.scope.candidates[name] }) {
		names := slices.Compact(slices.Sorted(slices.Values(of.ClusterNames)))
		text := fmt.Sprintf("%sno cluster in reach has one of the %d names, such as %q", plugin, len(names), names[0])
		add(unknownReference{text, "", names, func(spec *clusterv1beta1.PlacementSpec) { at(spec).ClusterNames = nil }})
	}
	key := func(what, key string, remove func(*clusterv1beta1.ClusterSelector)) {
		if have := v.have(what == "claim"); have[key] == 0 {
			text := fmt.Sprintf("%sno cluster in reach has the %s %q", plugin, what, key)
			add(unknownReference{text, hintOf(key, have), nil, func(spec *clusterv1beta1.PlacementSpec) { remove(at(spec)) }})
		}
	}
	labels, claims := of.LabelSelector, of.ClaimSelector
	for _, name := range needed(labels.MatchLabels, labels.MatchExpressions) {
		key("label", name, func(s *clusterv1beta1.ClusterSelector) {
			delete(s.LabelSelector.MatchLabels, name)
			s.LabelSelector.MatchExpressions = without(s.LabelSelector.MatchExpressions, name)
		})
	}
	for _, name := range needed(claims.MatchClaims, claims.MatchExpressions) {
		key("claim", name, func(s *clusterv1beta1.ClusterSelector) {
			delete(s.ClaimSelector.MatchClaims, name)
			s.ClaimSelector.MatchExpressions = without(s.ClaimSelector.MatchExpressions, name)
		})
	}
}

// needed returns the keys that a cluster must have, first those with a value.
func needed(values map[string]string, expressions []metav1.LabelSelectorRequirement) []string {
	out := slices.Sorted(maps.Keys(values))
	for _, r := range expressions {
		if r.Operator == "In" || r.Operator == "Exists" {
			out = append(out, r.Key)
		}
	}
	return out
}

// without returns the expressions that do not need a key.
func without(expressions []metav1.LabelSelectorRequirement, key string) []metav1.LabelSelectorRequirement {
	return slices.DeleteFunc(slices.Clone(expressions), func(r metav1.LabelSelectorRequirement) bool {
		return r.Key == key && (r.Operator == "In" || r.Operator == "Exists")
	})
}

// inSpread adds the keys of hard constraints and of anti-affinity.
func (v *view) inSpread(add func(unknownReference)) {
	note := func(key string, claims bool, remove func(*clusterv1beta1.PlacementSpec)) {
		what := map[bool]string{true: "claim", false: "label"}[claims]
		if have := v.have(claims); have[key] == 0 {
			add(unknownReference{fmt.Sprintf("Spread:no cluster in reach has the %s %q", what, key), hintOf(key, have), nil, remove})
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
			fmt.Sprintf("Prioritizer:no cluster in reach has the score %q in an AddOnPlacementScore %q", score, resource),
			hintOf(prioritizer, have), nil,
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
	for i, one := range of {
		hint := one.hint
		if i >= 5 {
			hint = ""
		}
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
