package program

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

// change is what changed of one cluster, as far as placements read it.
type change struct {
	// turn tells changes apart.
	turn  uint64
	fleet *fleet.Snapshot
	// cluster is the cluster after the change, or before it where it is gone.
	cluster *fleet.Cluster
	// present is when the cluster exists and is not being deleted.
	present times
	// arrives is set where the cluster comes or goes, taints where its taints change, labels where its labels or claims may.
	arrives, taints, labels bool
	cpu, memory             bool
	facets                  celenv.Facet
}

func compare(s *fleet.Snapshot, was, is *fleet.Cluster) change {
	out := change{fleet: s, cluster: is}
	if was != nil && !was.Terminating() {
		out.present |= earlier
	}
	if is != nil && !is.Terminating() {
		out.present |= later
	}
	if was == nil || is == nil {
		out.arrives, out.labels = true, true
		if is == nil {
			out.cluster = was
		}
		return out
	}
	out.facets = fleet.ChangedFacets(was.Object, is.Object)
	out.cpu, out.memory = was.CPU != is.CPU, was.Memory != is.Memory
	out.labels = out.facets&(celenv.FacetLabels|celenv.FacetClaims) != 0
	out.taints = out.facets&celenv.FacetSpec != 0 && !equality.Semantic.DeepEqual(was.Object.Spec.Taints, is.Object.Spec.Taints)
	return out
}

// everybody says whether the change matters to all who may choose the cluster, whatever they select by.
func (c *change) everybody() bool { return c.arrives || c.taints || c.present.differs() }

// touchedBy says whether the placements would see the change: the cluster becomes a candidate that passes the
// predicates or ceases to be one, it is one and something else that the placements read has changed, or it is the
// first candidate or was the last. While a set cannot be read, incumbents that no other set has are held whatever the
// predicates say of them, so nothing is left out.
func (r *reader) touchedBy(c *change) bool {
	s := r.scope
	s.look(c)
	switch {
	case s.broken:
		return c.everybody() || s.moves() || r.reads(c)
	case s.reached.differs():
		return true
	case !r.traits.has(compiled) || s.member == never:
		return false
	}
	passes, holds := s.member&r.passes(), r.traits.has(holding)
	switch {
	case passes.differs():
		return true
	case s.member.differs():
		return holds || s.fewCandidates(c.fleet)
	}
	return (passes == always || holds) && (c.taints || r.readsRest(c) || r.divides() || r.switches())
}

// passes says when a cluster passes a predicate, as far as selectors tell: an expression may yet drop it.
func (r *reading) passes() times {
	if len(r.predicates) == 0 {
		return always
	}
	out := never
	for _, c := range r.predicates {
		out |= c.holds()
	}
	return out
}

// reads says whether anything changes that is read, whatever comes of it.
func (r *reading) reads(c *change) bool {
	if r.readsRest(c) {
		return true
	}
	for f := range r.facts() {
		if f.held.differs() {
			return true
		}
	}
	return false
}

// readsRest says whether something changes that is read and is no fact.
func (r *reading) readsRest(c *change) bool {
	return c.facets&r.facets != 0 || c.cpu && r.traits.has(byCPU) || c.memory && r.traits.has(byMemory)
}

// divides says whether other tiers or groups match the cluster now, or it is in another domain.
func (r *reading) divides() bool {
	return slices.ContainsFunc(r.topologies, func(f *fact) bool { return f.held.differs() }) ||
		slices.ContainsFunc(r.divisions, conjunction.differs)
}

// switches says whether the cluster now meets the selectors of other predicates. That matters where expressions come
// after selectors.
func (r *reading) switches() bool {
	return r.traits.has(switching) && slices.ContainsFunc(r.predicates, conjunction.differs)
}

// countsAnother says whether a cluster that the placement may not choose counts all the same as it comes or goes: a
// percentage in the disruption policy is one of all that are selected, whether they may stay or not.
func (c *change) countsAnother(of fleet.Key) bool {
	id, known := c.fleet.ID(c.cluster.Name())
	return known && c.fleet.Incumbents(of).Has(id)
}
