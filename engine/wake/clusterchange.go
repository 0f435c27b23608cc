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
func (s *subscription) touchedBy(c *clusterChange) bool {
	scope := s.scope
	scope.evaluate(c)
	switch {
	case scope.hasInvalidSet:
		return c.affectsAll() || scope.readsChange() || s.reads(c)
	case scope.reachability.changes():
		return true
	case !s.traits.has(compiled) || scope.membership == never:
		return false
	}
	passes, holds := scope.membership&s.passes(), s.traits.has(mayHold)
	switch {
	case passes.changes():
		return true
	case scope.membership.changes():
		return holds || scope.atMostOneCandidate(c.fleet)
	}
	return (passes == always || holds) && (c.taints || s.readsOther(c) || s.changesDivision() || s.changesPredicate())
}

// passes returns when the cluster passes a predicate by its selectors. An expression may still reject it.
func (d *dependencies) passes() transition {
	if len(d.predicates) == 0 {
		return always
	}
	out := never
	for _, c := range d.predicates {
		out |= c.holds()
	}
	return out
}

// reads reports whether any dependency changes.
func (d *dependencies) reads(c *clusterChange) bool {
	if d.readsOther(c) {
		return true
	}
	for f := range d.facts() {
		if f.state.changes() {
			return true
		}
	}
	return false
}

// readsOther reports whether a dependency that is not a fact changes.
func (d *dependencies) readsOther(c *clusterChange) bool {
	return c.facets&d.facets != 0 || c.cpu && d.traits.has(readsCPU) || c.memory && d.traits.has(readsMemory)
}

// changesDivision reports whether other tiers or groups match the cluster, or it moves to another topology domain.
func (d *dependencies) changesDivision() bool {
	return slices.ContainsFunc(d.topologies, func(f *fact) bool { return f.state.changes() }) ||
		slices.ContainsFunc(d.divisions, conjunction.changes)
}

// changesPredicate reports whether the cluster meets the selectors of other predicates. That matters if expressions
// follow the selectors.
func (d *dependencies) changesPredicate() bool {
	return d.traits.has(hasExpressions) && slices.ContainsFunc(d.predicates, conjunction.changes)
}

// countsAsRemoval reports whether a placement has selected the cluster. A percentage in the disruption policy is of all
// selected clusters, also of those that the placement may no longer choose.
func (c *clusterChange) countsAsRemoval(of fleet.Key) bool {
	id, known := c.fleet.ID(c.cluster.Name())
	return known && c.fleet.Incumbents(of).Has(id)
}
