package wake_test

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// naiveIndex decides without an index whether a change of a cluster touches a placement: it reads the whole placement.
type naiveIndex struct {
	fleet         *fleet.Snapshot
	before, after *fleet.Cluster
}

// touches reports whether the change can change the decision. p is nil if the placement does not compile.
func (n naiveIndex) touches(key fleet.Key, p *program.Program) bool {
	var bound, chosen []*fleet.Set
	for _, name := range n.fleet.BoundSets(key.Namespace) {
		if set, ok := n.fleet.Set(name); ok {
			bound = append(bound, set)
			if p == nil || len(p.ClusterSets) == 0 || slices.Contains(p.ClusterSets, name) {
				chosen = append(chosen, set)
			}
		}
	}
	keeps := p == nil || len(p.ClusterSets) > 0 || slices.ContainsFunc(selectors(p), hasExpressions)
	if !keeps {
		bound = chosen
	}
	switch {
	case slices.ContainsFunc(bound, func(set *fleet.Set) bool { return !set.Valid() }):
		return n.concerns(bound, p)
	case keeps && among(bound, n.before) != among(bound, n.after):
		return true
	case p == nil:
		return false
	}
	member, stays := among(chosen, n.before), among(chosen, n.after)
	if !member && !stays {
		return n.counts(key, p)
	}
	was, is := member && passes(p, n.before), stays && passes(p, n.after)
	switch {
	case was != is:
		return true
	case member != stays:
		return p.Budget != nil || n.fewCandidates(chosen)
	}
	return (is || p.Budget != nil) && (n.taintsChange() || n.reads(p) || n.divides(p))
}

// concerns reports whether any dependency changes.
func (n naiveIndex) concerns(bound []*fleet.Set, p *program.Program) bool {
	var terms []fleet.Term
	for _, set := range bound {
		terms = append(terms, set.DependsOn()...)
	}
	if p != nil {
		for _, predicate := range selectors(p) {
			terms = append(terms, predicate.Selector.DependsOn()...)
		}
		for _, topology := range topologies(p) {
			terms = append(terms, fleet.TermChangedValue(topology.Source, topology.Key))
		}
	}
	read := func(term fleet.Term) bool { return slices.Contains(terms, term) }
	if slices.ContainsFunc(fleet.ChangedTerms(n.before, n.after), read) || n.before == nil || n.after == nil {
		return true
	}
	return n.taintsChange() || n.before.Terminating() != n.after.Terminating() || n.before.CPU != n.after.CPU ||
		n.before.Memory != n.after.Memory || p != nil && n.reads(p)
}

// taintsChange reports whether the taints differ.
func (n naiveIndex) taintsChange() bool {
	return !equality.Semantic.DeepEqual(n.before.Object.Spec.Taints, n.after.Object.Spec.Taints)
}

func (n naiveIndex) reads(p *program.Program) bool {
	return fleet.ChangedFacets(n.before.Object, n.after.Object)&p.Facets() != 0 ||
		n.before.CPU != n.after.CPU && p.HasPrioritizer(program.AllocatableCPU) ||
		n.before.Memory != n.after.Memory && p.HasPrioritizer(program.AllocatableMemory)
}

// divides reports whether other tiers or groups match the cluster, another predicate with expressions does, or the cluster
// is in another domain.
func (n naiveIndex) divides(p *program.Program) bool {
	for _, topology := range topologies(p) {
		was, had := topology.Domain(n.before)
		is, has := topology.Domain(n.after)
		if was != is || had != has {
			return true
		}
	}
	predicates := slices.ContainsFunc(p.Predicates, hasExpressions)
	for i, predicate := range selectors(p) {
		if (predicates || i >= len(p.Predicates)) && predicate.Selector.Matches(n.before) != predicate.Selector.Matches(n.after) {
			return true
		}
	}
	return false
}

// counts reports whether a selected cluster that is no candidate comes or goes while the budget is a percentage of all selected.
func (n naiveIndex) counts(key fleet.Key, p *program.Program) bool {
	one := n.after
	if one == nil {
		one = n.before
	}
	id, known := n.fleet.ID(one.Name())
	return p.Budget != nil && p.Budget.Percent && (n.before == nil || n.after == nil) && known && n.fleet.Incumbents(key).Has(id)
}

func (n naiveIndex) fewCandidates(chosen []*fleet.Set) bool {
	candidates := 0
	for _, cluster := range n.fleet.Clusters() {
		if among(chosen, cluster) {
			candidates++
		}
	}
	return candidates <= 1
}

func among(sets []*fleet.Set, c *fleet.Cluster) bool {
	return c != nil && !c.Terminating() && slices.ContainsFunc(sets, func(s *fleet.Set) bool { return s.Has(c) })
}

func passes(p *program.Program, c *fleet.Cluster) bool {
	return len(p.Predicates) == 0 ||
		slices.ContainsFunc(p.Predicates, func(p program.Predicate) bool { return p.Selector.Matches(c) })
}

func hasExpressions(p program.Predicate) bool { return len(p.Expressions) > 0 }

// selectors returns all selectors of a program, first those of its predicates.
func selectors(p *program.Program) []program.Predicate {
	out := slices.Clone(p.Predicates)
	for _, tier := range p.Tiers {
		out = append(out, tier.Predicate)
	}
	for _, group := range p.Groups.Groups {
		out = append(out, group.Predicate)
	}
	return out
}

func topologies(p *program.Program) []program.Topology {
	out := slices.Clone(p.AntiAffinity)
	for _, constraint := range p.Spread {
		out = append(out, constraint.Topology)
	}
	return out
}
