package program

import (
	"cmp"
	"slices"

	"github.com/bits-and-blooms/bitset"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

// difference is what changed of one cluster, as far as placements read it.
type difference struct {
	fleet         *fleet.Snapshot
	before, after *fleet.Cluster
	terms         []fleet.Term
	facets        celenv.Facet
	taints        bool
	cpu, memory   bool
	// everybody is set where a change matters to placements that no term names.
	everybody bool
}

func compare(s *fleet.Snapshot, before, after *fleet.Cluster) difference {
	out := difference{fleet: s, before: before, after: after}
	if before == nil || after == nil {
		out.terms = fleet.ChangedTerms(before, after)
		return out
	}
	out.facets = fleet.ChangedFacets(before.Object, after.Object)
	out.cpu, out.memory = before.CPU != after.CPU, before.Memory != after.Memory
	out.everybody = out.cpu || out.memory
	if out.facets&fleet.TermFacets == 0 { // a heartbeat
		return out
	}
	out.terms = fleet.ChangedTerms(before, after)
	out.taints = !equality.Semantic.DeepEqual(before.Object.Spec.Taints, after.Object.Spec.Taints)
	out.everybody = out.everybody || out.taints || before.Terminating() != after.Terminating()
	return out
}

// touchedBy says whether the placement would see the change: the cluster becomes a candidate that passes the
// predicates or ceases to be one, it is one and something else that the placement reads has changed, or it is the
// first candidate or was the last. While a set cannot be read, incumbents that no other set has are held whatever the
// predicates say of them, so nothing is left out.
func (e *entry) touchedBy(c difference) bool {
	switch {
	case e.broken:
		return true
	case among(e.reachable, c.before) != among(e.reachable, c.after):
		return true
	case e.program == nil:
		return false
	}
	member, stays := e.chooses(c.before), e.chooses(c.after)
	if !member && !stays {
		return e.countsAnother(c)
	}
	was, is := member && e.passes(c.before), stays && e.passes(c.after)
	switch {
	case was != is:
		return true
	case member != stays:
		return e.mayHold() || e.fewCandidates(c.fleet)
	}
	return (is || e.mayHold()) && (e.readsChange(c) || e.switchesPredicate(c))
}

// mayHold says whether a cluster that passes no predicate may be selected all the same: held by the disruption policy, it
// stays and counts until its turn comes, or until it is no member any more.
func (e *entry) mayHold() bool { return e.program.Budget != nil }

// countsAnother says whether a cluster that the placement may not choose comes or goes and counts all the same: a
// percentage in the disruption policy is one of all that are selected, whether they may stay or not.
func (e *entry) countsAnother(c difference) bool {
	if budget := e.program.Budget; budget == nil || !budget.Percent || (c.before == nil) == (c.after == nil) {
		return false
	}
	id, known := c.fleet.ID(cmp.Or(c.before, c.after).Name())
	return known && c.fleet.Incumbents(e.key).Has(id)
}

// readsChange says whether a program reads what changed of a cluster that passes the predicates.
func (e *entry) readsChange(c difference) bool {
	return c.taints || c.facets&e.facets != 0 ||
		c.cpu && e.program.Scores(AllocatableCPU) || c.memory && e.program.Scores(AllocatableMemory) ||
		e.program.moves(c.before, c.after)
}

// switchesPredicate says whether the cluster now meets the selectors of other predicates. That matters where
// expressions come after selectors.
func (e *entry) switchesPredicate(c difference) bool {
	hasExpressions := func(p Predicate) bool { return len(p.Expressions) > 0 }
	return slices.ContainsFunc(e.program.Predicates, hasExpressions) &&
		slices.ContainsFunc(e.program.Predicates, func(p Predicate) bool { return p.switches(c.before, c.after) })
}

// chooses says whether the placement may choose a cluster. All its sets can be read.
func (e *entry) chooses(c *fleet.Cluster) bool { return among(e.sets, c) }

// among says whether one of the sets has a cluster that is not being deleted.
func among(sets []*fleet.Set, c *fleet.Cluster) bool {
	return c != nil && !c.Terminating() && slices.ContainsFunc(sets, func(s *fleet.Set) bool { return s.Has(c) })
}

// passes says whether a cluster passes a predicate, as far as selectors tell: an expression may yet drop it.
func (e *entry) passes(c *fleet.Cluster) bool {
	if len(e.program.Predicates) == 0 {
		return true
	}
	return slices.ContainsFunc(e.program.Predicates, func(p Predicate) bool { return p.Selector.Matches(c) })
}

// fewCandidates says whether the sets have at most one cluster, so that a change may have made the first or taken
// the last: a placement tells its user which it is, nobody to choose from or nobody who matches.
func (e *entry) fewCandidates(s *fleet.Snapshot) bool {
	candidates := &bitset.BitSet{}
	for _, set := range e.sets {
		set.AddMembers(s, candidates)
	}
	s.Holding(fleet.TermTerminating).DropFrom(candidates)
	return candidates.Count() <= 1
}

// moves says whether a change of a cluster changes which tiers or predefined groups match it, or the domain that it is
// in.
func (p *Program) moves(before, after *fleet.Cluster) bool {
	for topology := range p.topologies() {
		was, had := topology.Domain(before)
		is, has := topology.Domain(after)
		if was != is || had != has {
			return true
		}
	}
	return slices.ContainsFunc(p.Tiers, func(t Tier) bool { return t.switches(before, after) }) ||
		slices.ContainsFunc(p.Groups.Groups, func(g Group) bool { return g.switches(before, after) })
}

// switches says whether a change of a cluster changes whether the requirements match it.
func (p Predicate) switches(before, after *fleet.Cluster) bool {
	return p.Selector.Matches(before) != p.Selector.Matches(after)
}

// terms returns the terms that the program reads.
func (p *Program) terms() []fleet.Term {
	var out []fleet.Term
	for predicate := range p.selectors() {
		out = append(out, predicate.Selector.Reads()...)
	}
	for topology := range p.topologies() {
		out = append(out, fleet.TermValue(topology.Source, topology.Key))
	}
	if p.Budget != nil && p.Budget.Percent {
		out = append(out, fleet.TermExists)
	}
	return out
}
