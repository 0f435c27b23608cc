package program

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

// clusterChange is what changed of one cluster, as far as placements read it.
type clusterChange struct {
	// changeSeq tells changes apart.
	changeSeq uint64
	fleet     *fleet.Snapshot
	// cluster is the cluster after the change, or before it where it is gone.
	cluster *fleet.Cluster
	// present is when the cluster exists and is not being deleted.
	present transition
	// createdOrDeleted is set where the cluster comes or goes, taints where its taints change, labels where its labels or claims may.
	createdOrDeleted, taints, labels bool
	cpu, memory                      bool
	facets                           celenv.Facet
}

func compare(s *fleet.Snapshot, was, is *fleet.Cluster) clusterChange {
	out := clusterChange{fleet: s, cluster: is}
	if was != nil && !was.Terminating() {
		out.present |= holdsBefore
	}
	if is != nil && !is.Terminating() {
		out.present |= holdsAfter
	}
	if was == nil || is == nil {
		out.createdOrDeleted, out.labels = true, true
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

// affectsAll says whether the change matters to all who may choose the cluster, whatever they select by.
func (c *clusterChange) affectsAll() bool {
	return c.createdOrDeleted || c.taints || c.present.changes()
}

// touchedBy says whether the placements would see the change: the cluster becomes a candidate that passes the
// predicates or ceases to be one, it is one and something else that the placements read has changed, or it is the
// first candidate or was the last. While a set cannot be read, incumbents that no other set has are held whatever the
// predicates say of them, so nothing is left out.
func (r *subscription) touchedBy(c *clusterChange) bool {
	s := r.scope
	s.evaluate(c)
	switch {
	case s.hasInvalidSet:
		return c.affectsAll() || s.readsChange() || r.reads(c)
	case s.reachability.changes():
		return true
	case !r.traits.has(compiled) || s.membership == never:
		return false
	}
	passes, holds := s.membership&r.passes(), r.traits.has(mayHold)
	switch {
	case passes.changes():
		return true
	case s.membership.changes():
		return holds || s.atMostOneCandidate(c.fleet)
	}
	return (passes == always || holds) && (c.taints || r.readsOther(c) || r.changesDivision() || r.changesPredicate())
}

// passes says when a cluster passes a predicate, as far as selectors tell: an expression may yet drop it.
func (r *dependencies) passes() transition {
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
func (r *dependencies) reads(c *clusterChange) bool {
	if r.readsOther(c) {
		return true
	}
	for f := range r.facts() {
		if f.state.changes() {
			return true
		}
	}
	return false
}

// readsOther says whether something changes that is read and is no fact.
func (r *dependencies) readsOther(c *clusterChange) bool {
	return c.facets&r.facets != 0 || c.cpu && r.traits.has(readsCPU) || c.memory && r.traits.has(readsMemory)
}

// changesDivision says whether other tiers or groups match the cluster now, or it is in another domain.
func (r *dependencies) changesDivision() bool {
	return slices.ContainsFunc(r.topologies, func(f *fact) bool { return f.state.changes() }) ||
		slices.ContainsFunc(r.divisions, conjunction.changes)
}

// changesPredicate says whether the cluster now meets the selectors of other predicates. That matters where expressions come
// after selectors.
func (r *dependencies) changesPredicate() bool {
	return r.traits.has(hasExpressions) && slices.ContainsFunc(r.predicates, conjunction.changes)
}

// countsAsRemoval says whether a cluster that the placement may not choose counts all the same as it comes or goes: a
// percentage in the disruption policy is one of all that are selected, whether they may stay or not.
func (c *clusterChange) countsAsRemoval(of fleet.Key) bool {
	id, known := c.fleet.ID(c.cluster.Name())
	return known && c.fleet.Incumbents(of).Has(id)
}
