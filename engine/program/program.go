package program

import (
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

// Program is a compiled Placement. It is immutable, except for the cached cost overrun of its last decision, and safe
// for concurrent use.
type Program struct {
	Key fleet.Key
	// ClusterSets is spec.clusterSets; empty means every set bound to the namespace.
	ClusterSets []string
	// Predicates are ORed. An empty list matches every cluster.
	Predicates  []Predicate
	Tolerations []Toleration
	// Prioritizers have a weight other than 0 and are in a fixed order.
	Prioritizers []Prioritizer
	// Wanted is spec.numberOfClusters. Limited is false if it is absent, which selects every cluster.
	Wanted  int
	Limited bool
	Groups  Strategy
	// Tiers are spec.tiers in order. An empty list puts every cluster in one tier.
	Tiers []Tier
	// Stabilization is how long a cluster of an earlier tier must qualify before it displaces one of a later tier.
	Stabilization time.Duration
	// Spread are the spread constraints in order of importance; soft constraints are left out if Limited is false.
	Spread []Constraint
	// SpreadWeight is the weight of the Spread prioritizer; it has no meaning without constraints.
	SpreadWeight int64
	// AntiAffinity are the topologies that allow at most one selected cluster in each domain.
	AntiAffinity []Topology
	// Budget limits how many clusters are removed within an interval; nil means no limit.
	Budget *Budget
	// ByScore orders decisions by score and shows scores, rewritten at most once per ScoreEvery.
	ByScore    bool
	ScoreEvery time.Duration

	overrun atomic.Pointer[overrun]
}

// HasPrioritizer reports whether a prioritizer of the kind is among the prioritizers.
func (p *Program) HasPrioritizer(kind Kind) bool {
	return slices.ContainsFunc(p.Prioritizers, func(by Prioritizer) bool { return by.Kind == kind })
}

// MayKeepDecisions reports whether a decision can end with stored clusters kept that are in no set of the spec: an expression may fail
// on every cluster, or a set that the spec names may not exist.
func (p *Program) MayKeepDecisions() bool {
	if len(p.ClusterSets) > 0 {
		return true
	}
	for range p.Expressions() {
		return true
	}
	return false
}

// Facets returns the parts of a cluster that the program's expressions read.
func (p *Program) Facets() fleet.Facet {
	var out fleet.Facet
	for expression := range p.Expressions() {
		out |= expression.Facets()
	}
	return out
}

// Expressions yields every expression of the program.
func (p *Program) Expressions() iter.Seq[*celenv.Expression] {
	return func(yield func(*celenv.Expression) bool) {
		for predicate := range p.selectors() {
			for _, expression := range predicate.Expressions {
				if !yield(expression) {
					return
				}
			}
		}
	}
}

// selectors yields every selector of clusters: of predicates, tiers and groups.
func (p *Program) selectors() iter.Seq[Predicate] {
	return func(yield func(Predicate) bool) {
		for _, predicate := range p.Predicates {
			if !yield(predicate) {
				return
			}
		}
		p.DivisionSelectors()(yield)
	}
}

// DivisionSelectors yields the selectors of tiers and groups.
func (p *Program) DivisionSelectors() iter.Seq[Predicate] {
	return func(yield func(Predicate) bool) {
		for _, tier := range p.Tiers {
			if !yield(tier.Predicate) {
				return
			}
		}
		for _, group := range p.Groups.Groups {
			if !yield(group.Predicate) {
				return
			}
		}
	}
}

// Topologies yields the topologies by which the program divides clusters.
func (p *Program) Topologies() iter.Seq[Topology] {
	return func(yield func(Topology) bool) {
		for _, constraint := range p.Spread {
			if !yield(constraint.Topology) {
				return
			}
		}
		for _, topology := range p.AntiAffinity {
			if !yield(topology) {
				return
			}
		}
	}
}
