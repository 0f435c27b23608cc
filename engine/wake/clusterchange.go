package wake

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berth-project/berth/engine/fleet"
)

// clusterChange is a change of one cluster, as far as placements can read it.
type clusterChange struct {
	// changeSeq identifies the change.
	changeSeq uint64
	fleet     *fleet.Snapshot
	// cluster is the state after the change, or before it for a deleted cluster.
	cluster *fleet.Cluster
	// present is when the cluster exists and is not being deleted.
	present transition
	// createdOrDeleted and taints are exact; labels is set if labels or claims may differ.
	createdOrDeleted, taints, labels bool
	cpu, memory                      bool
	facets                           fleet.Facet
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
	out.labels = out.facets&(fleet.FacetLabels|fleet.FacetClaims) != 0
	out.taints = out.facets&fleet.FacetSpec != 0 && !equality.Semantic.DeepEqual(was.Object.Spec.Taints, is.Object.Spec.Taints)
	return out
}

// affectsAll reports whether the change matters to every placement that may choose the cluster, whatever its selectors.
func (c *clusterChange) affectsAll() bool {
	return c.createdOrDeleted || c.taints || c.present.changes()
}

// touchedBy reports whether the change can change the decision. It can if the cluster starts or stops to pass the
// predicates, if it passes and something else that is read changes, or if it is the first or last candidate. With an
// invalid set, incumbents of no other set are held whatever the predicates match, so every change of a dependency
// counts.
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

// passes returns when the cluster passes a predicate by its selectors. An expression may still reject it.
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

// reads reports whether any dependency changes.
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

// readsOther reports whether a dependency that is not a fact changes.
func (r *dependencies) readsOther(c *clusterChange) bool {
	return c.facets&r.facets != 0 || c.cpu && r.traits.has(readsCPU) || c.memory && r.traits.has(readsMemory)
}

// changesDivision reports whether other tiers or groups match the cluster, or it moves to another topology domain.
func (r *dependencies) changesDivision() bool {
	return slices.ContainsFunc(r.topologies, func(f *fact) bool { return f.state.changes() }) ||
		slices.ContainsFunc(r.divisions, conjunction.changes)
}

// changesPredicate reports whether the cluster meets the selectors of other predicates. That matters if expressions
// follow the selectors.
func (r *dependencies) changesPredicate() bool {
	return r.traits.has(hasExpressions) && slices.ContainsFunc(r.predicates, conjunction.changes)
}

// countsAsRemoval reports whether a placement has selected the cluster. A percentage in the disruption policy is of all
// selected clusters, also of those that the placement may no longer choose.
func (c *clusterChange) countsAsRemoval(of fleet.Key) bool {
	id, known := c.fleet.ID(c.cluster.Name())
	return known && c.fleet.Incumbents(of).Has(id)
}
