package placement

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/admission/review"
)

// Warnings returns warnings about valid specs that are probably mistakes. bound are the sets bound to the namespace.
func Warnings(placement *clusterv1beta1.Placement, compiled *program.Program, bound sets.Set[string]) []string {
	out := unboundWarnings(placement, bound)
	if compiled == nil {
		return out
	}
	for i, predicate := range compiled.Predicates {
		out = append(out, contradictionWarning(field.NewPath("spec", "predicates").Index(i), predicate)...)
	}
	out = append(out, tierWarnings(compiled.Tiers)...)
	out = append(out, groupWarnings(compiled.Groups.Groups)...)
	return append(out, ineffectiveFieldWarnings(placement.Spec)...)
}

// minWarned is the number of clusters from which an edit is warned of that takes away more than half of them.
const minWarned = 4

// Warnings warns of an edit that leaves no cluster, or takes away more than half of at least four.
func (e Edits) Warnings(after *clusterv1beta1.Placement, compiled *program.Program) []string {
	if e.Lost == nil {
		return nil
	}
	lost, selected, then, ok := e.Lost(after, compiled)
	wanted := after.Spec.NumberOfClusters == nil || *after.Spec.NumberOfClusters > 0
	switch {
	case !ok || lost == 0:
		return nil
	case e.HeldByReference != nil && e.HeldByReference(after, compiled):
		return []string{fmt.Sprintf("this edit names what no cluster in reach has; the %d selected clusters stay until a cluster has it, or: "+
			"kubectl berth holds release placement/%s -n %s --hold Reference --reason WHY", selected, after.Name, after.Namespace)}
	case lost == selected && then > 0:
		return []string{fmt.Sprintf("this edit takes away all %d selected clusters, for %d others", selected, then)}
	case lost == selected && e.Held && wanted && !clusterv1beta1.EmptyingConfirmed(after):
		return []string{fmt.Sprintf("this edit leaves none of %d selected clusters; they stay until it is confirmed: "+
			"kubectl berth holds release placement/%s -n %s --reason WHY", selected, after.Name, after.Namespace)}
	case lost == selected && e.Held && after.Annotations[clusterv1beta1.ConfirmEmptyAnnotation] == "true":
		return []string{fmt.Sprintf("this edit leaves none of %d selected clusters, and is followed, since the annotation %s confirms it; "+
			"remove the annotation afterwards, since it confirms every later edit too", selected, clusterv1beta1.ConfirmEmptyAnnotation)}
	case lost == selected:
		return []string{fmt.Sprintf("this edit leaves none of %d selected clusters", selected)}
	case selected >= minWarned && 2*lost > selected:
		return []string{fmt.Sprintf("this edit takes away %d of %d selected clusters", lost, selected)}
	default:
		return nil
	}
}

// unknownWarnings warns of what a spec names and no cluster has. Sets that are not bound have a warning of their own.
func (e Edits) unknownWarnings(compiled *program.Program) []string {
	if e.Unknown == nil {
		return nil
	}
	var out []string
	for _, text := range e.Unknown(compiled) {
		if part, what, _ := strings.Cut(text, ":"); part != "ClusterSets" {
			out = append(out, what)
		}
	}
	return out
}

// contradictionWarning warns of a selector that cannot match any cluster.
func contradictionWarning(path *field.Path, selector program.Predicate) []string {
	if why := review.Contradiction(selector.Selector); why != "" {
		return []string{fmt.Sprintf("%s matches no cluster, since no cluster can meet both %s", path, why)}
	}
	return nil
}

// tierWarnings warns of tiers that are never used.
func tierWarnings(tiers []program.Tier) []string {
	var out []string
	path := field.NewPath("spec", "tiers")
	for i, tier := range tiers {
		out = append(out, contradictionWarning(path.Index(i), tier.Predicate)...)
		if matchesAll := len(tier.Selector) == 0 && len(tier.Expressions) == 0; matchesAll && i < len(tiers)-1 {
			out = append(out, fmt.Sprintf("%s matches all remaining clusters, so the tiers after it are empty", path.Index(i)))
			break
		}
	}
	return out
}

// groupWarnings warns of groups without clusters, and of groups with the same name.
func groupWarnings(groups []program.Group) []string {
	var out []string
	path := field.NewPath("spec", "decisionStrategy", "groupStrategy", "decisionGroups")
	names := sets.New[string]()
	for i, group := range groups {
		out = append(out, contradictionWarning(path.Index(i), group.Predicate)...)
		if names.Has(group.Name) {
			out = append(out, fmt.Sprintf("%s has the same name %q as an earlier group; readers cannot distinguish the two by name", path.Index(i),
				group.Name))
		}
		names.Insert(group.Name)
	}
	return out
}

// ineffectiveFieldWarnings warns of fields that have no effect without another field.
func ineffectiveFieldWarnings(spec clusterv1beta1.PlacementSpec) []string {
	var out []string
	path := field.NewPath("spec")
	if spec.FailbackPolicy != nil && len(spec.Tiers) == 0 {
		out = append(out, fmt.Sprintf("%s has no effect without spec.tiers", path.Child("failbackPolicy")))
	}
	for i, term := range spec.SpreadPolicy.SpreadConstraints {
		if spec.NumberOfClusters == nil && term.WhenUnsatisfiable != clusterv1beta1.DoNotSchedule {
			out = append(out, fmt.Sprintf("%s has no effect without spec.numberOfClusters: every cluster that qualifies is selected; "+
				"DoNotSchedule selects fewer",
				path.Child("spreadPolicy", "spreadConstraints").Index(i)))
		}
	}
	byDomain := slices.IndexFunc(spec.PrioritizerPolicy.Configurations, func(config clusterv1beta1.PrioritizerConfig) bool {
		of := config.ScoreCoordinate
		return of != nil && of.Type != clusterv1beta1.ScoreCoordinateTypeAddOn && of.BuiltIn == clusterv1beta1.PrioritizerSpread
	})
	if byDomain >= 0 && len(spec.SpreadPolicy.SpreadConstraints) == 0 {
		out = append(out, fmt.Sprintf("%s: the prioritizer Spread has no effect without spec.spreadPolicy.spreadConstraints",
			path.Child("prioritizerPolicy", "configurations").Index(byDomain)))
	}
	return out
}

func unboundWarnings(placement *clusterv1beta1.Placement, bound sets.Set[string]) []string {
	if len(placement.Spec.ClusterSets) == 0 && bound.Len() == 0 {
		return []string{fmt.Sprintf("no cluster set is bound to the namespace %q, so no cluster can be selected; create "+
			"a ManagedClusterSetBinding", placement.Namespace)}
	}
	var out []string
	for i, name := range placement.Spec.ClusterSets {
		if !bound.Has(name) {
			out = append(out, fmt.Sprintf("%s: the cluster set %q is not bound to the namespace %q, so it adds no clusters",
				field.NewPath("spec", "clusterSets").Index(i), name, placement.Namespace))
		}
	}
	return out
}
