package engine

import (
	"slices"
	"strings"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/verdict"
)

// Fact is a kind of facts about clusters by which placements select.
type Fact string

const (
	// Labels are the labels of clusters, by which they are also in sets, and other metadata.
	Labels Fact = "Labels"
	// Claims are the claims of clusters, and what else their agents report.
	Claims Fact = "Claims"
	// Scores are the add-on scores and the resources by which clusters are ranked.
	Scores Fact = "Scores"
	// Taints are the taints of clusters, but for those that the health controller sets.
	Taints Fact = "Taints"
)

// Facts returns every kind.
func Facts() []Fact { return []Fact{Claims, Labels, Scores, Taints} }

// Departure is a cluster that a decision removes because of facts about it.
type Departure struct {
	Cluster string
	// Facts are the kinds that may be the cause, sorted. There are several where the placement has alternatives.
	Facts []Fact
	// Sets are the sets through which the placement had the cluster: those that have it or, if no set has it any more, every eligible one.
	Sets []string
	// OutsideSets is set if no eligible set has the cluster. A change of a set or of a binding may be the cause as well.
	OutsideSets bool
}

// Departures returns the clusters that the decision removes because of facts about them, by name. Not among them are clusters that are
// being deleted, denied or revoked, or that have a taint of the health controller, and what an edit of the placement removes.
func (r *Result) Departures(healthTaint func(key string) bool) []Departure {
	if !r.Decided {
		return nil
	}
	t := r.Trace
	gone := incumbentsOf(t.Snapshot, r.Key)
	for _, id := range t.Ranking.Chosen {
		gone.Clear(id)
	}
	var out []Departure
	for _, id := range t.Snapshot.ByName(gone) {
		if found := t.departure(id, healthTaint); len(found.Facts) > 0 {
			out = append(out, found)
		}
	}
	return out
}

// departure returns how a cluster leaves. It has no facts if they are not the cause.
func (t *Trace) departure(id fleet.ID, healthTaint func(key string) bool) Departure {
	cluster := t.Snapshot.Cluster(id)
	out := Departure{Cluster: t.Snapshot.Name(id), Sets: t.Sets(id)}
	if t.revoked(cluster) || slices.ContainsFunc(t.tolerated.Untolerated(id), healthTaint) {
		return out
	}
	switch found := t.VerdictWithoutRank(id); found.Code {
	case verdict.OutsideSets:
		out.Sets, out.OutsideSets, out.Facts = t.scope.eligible, true, []Fact{Labels}
	case verdict.Mismatch, verdict.TooCostly:
		for _, predicate := range t.Program.Predicates {
			out.Facts = append(out.Facts, unmetFacts(predicate, cluster)...)
		}
	case verdict.OutsideTiers:
		for _, tier := range t.Program.Tiers {
			out.Facts = append(out.Facts, unmetFacts(tier.Predicate, cluster)...)
		}
	case verdict.Tainted, verdict.Expired:
		out.Facts = []Fact{Taints}
	case verdict.ConstraintBlocked:
		if argument, ok := found.Argument.(verdict.Constraint); ok {
			out.Facts = []Fact{factOf(t.topologyOf(argument.Term).Source)}
		}
	case verdict.Outranked:
		if t.tolerated.Penalized.Test(id) {
			out.Facts = append(out.Facts, Taints)
		}
		if slices.ContainsFunc(t.Program.Prioritizers, program.Prioritizer.ReadsFacts) {
			out.Facts = append(out.Facts, Scores)
		}
	default:
	}
	slices.Sort(out.Facts)
	out.Facts = slices.Compact(out.Facts)
	return out
}

// revoked reports whether a user took a cluster out of an eligible set without a grace.
func (t *Trace) revoked(cluster *fleet.Cluster) bool {
	set, _, found := strings.Cut(cluster.Object.Annotations[clusterv1beta2.RevokedSetAnnotation], "/")
	return found && slices.Contains(t.scope.eligible, set) && cluster.Object.Labels[clusterv1beta2.ClusterSetLabel] != set
}

// topologyOf returns the topology of a term.
func (t *Trace) topologyOf(term verdict.Term) program.Topology {
	if term.Spread {
		return t.Program.Spread[term.Index].Topology
	}
	return t.Program.AntiAffinity[term.Index]
}

// unmetFacts returns what a predicate reads that a cluster does not meet: by the first requirement that fails or, if all hold, by its
// expressions. Names are no facts.
func unmetFacts(predicate program.Predicate, cluster *fleet.Cluster) []Fact {
	for _, requirement := range predicate.Selector {
		if requirement.Matches(cluster) {
			continue
		}
		if requirement.Key == "" {
			return nil
		}
		return []Fact{factOf(requirement.Source)}
	}
	var out []Fact
	for _, expression := range predicate.Expressions {
		out = append(out, factsOf(expression)...)
	}
	return out
}

func factOf(source fleet.Source) Fact {
	if source == fleet.Claim {
		return Claims
	}
	return Labels
}

// factsOf returns what an expression reads.
func factsOf(expression *celenv.Expression) []Fact {
	var out []Fact
	facets := expression.Facets()
	if facets&(fleet.FacetLabels|fleet.FacetAnnotations|fleet.FacetMeta) != 0 {
		out = append(out, Labels)
	}
	if facets&(fleet.FacetClaims|fleet.FacetResources|fleet.FacetConditions|fleet.FacetStatus) != 0 {
		out = append(out, Claims)
	}
	if facets&fleet.FacetSpec != 0 {
		out = append(out, Taints)
	}
	if names, all := expression.Scores(); all || len(names) > 0 {
		out = append(out, Scores)
	}
	return out
}

// Reach returns the sets that the run chose from. A set that has another selector is another value.
func (t *Trace) Reach() []*fleet.Set {
	out := make([]*fleet.Set, 0, len(t.scope.eligible))
	for _, name := range t.scope.eligible {
		if set, exists := t.Snapshot.Set(name); exists {
			out = append(out, set)
		}
	}
	return out
}

// LacksSets reports whether the run had no set to choose from, or a binding names a set for it that does not exist.
func (t *Trace) LacksSets() bool {
	named := fleet.SetNameFilter(t.Program.ClusterSets)
	return len(t.scope.eligible) == 0 || slices.ContainsFunc(t.Snapshot.BoundSets(t.Program.Key.Namespace), func(bound string) bool {
		_, exists := t.Snapshot.Set(bound)
		return named(bound) && !exists
	})
}
