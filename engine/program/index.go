package program

import (
	"maps"
	"slices"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

// Index finds the placements that a change can touch, from the facts that their programs read:
//
//	candidates                 the labels that the eligible sets select by
//	predicates, tiers, groups  names, labels and claims; for expressions the parts of a cluster they name, and scores
//	TaintToleration            taints
//	spread, anti-affinity      the values of their topology keys
//	a percentage of a budget   which of the selected clusters exist
//	ResourceAllocatable*       status.allocatable and capacity
//	AddOn                      the scores of one resource
//	Balance, Steady            nothing: what placements decide wakes no placement
//
// What it returns is never too little: a placement that is not returned would be decided the same. An Index belongs
// to one goroutine at a time.
type Index struct {
	entries     map[fleet.Key]*entry
	byTerm      map[fleet.Term]members
	byNamespace map[string]members
	bySet       map[string]members
	// byFacet holds for each part of a cluster the placements with expressions that read it.
	byFacet map[celenv.Facet]members
}

type members map[*entry]struct{}

// entry is a placement as the index knows it.
type entry struct {
	key fleet.Key
	// program is nil where the placement does not compile.
	program *Program
	// names are those of all sets that the namespace binds; sets are those that the placement may choose from.
	names []string
	sets  []*fleet.Set
	// reachable are all bound sets, where the placement may have to keep what it has: it keeps any cluster that the
	// namespace can reach. Nil elsewhere.
	reachable []*fleet.Set
	// broken is set where one of the sets cannot be read, so that nobody can tell who is a member.
	broken bool
	terms  []fleet.Term
	facets celenv.Facet
}

// NewIndex returns an index of no placements.
func NewIndex() *Index {
	return &Index{
		entries: map[fleet.Key]*entry{}, byTerm: map[fleet.Term]members{},
		byNamespace: map[string]members{}, bySet: map[string]members{}, byFacet: map[celenv.Facet]members{},
	}
}

// Put adds a placement or replaces it. Put it again whenever its program, the bindings of its namespace or one of
// the sets that they name has changed. p is nil where the placement does not compile.
func (x *Index) Put(s *fleet.Snapshot, key fleet.Key, p *Program) {
	x.Remove(key)
	e := &entry{key: key, program: p}
	for _, name := range s.Bound(key.Namespace) {
		e.names = append(e.names, name)
		if set, ok := s.Set(name); ok {
			e.read(set)
		}
	}
	if p != nil {
		e.facets = p.Facets()
		e.terms = append(e.terms, p.terms()...)
	}
	x.entries[key] = e
	x.link(e)
}

// read notes a bound set that exists.
func (e *entry) read(set *fleet.Set) {
	asked := e.program == nil || len(e.program.ClusterSets) == 0 || slices.Contains(e.program.ClusterSets, set.Name)
	if asked {
		e.sets = append(e.sets, set)
	}
	if e.program == nil || e.program.mayBeKept() {
		e.reachable = append(e.reachable, set)
	} else if !asked {
		return
	}
	e.broken = e.broken || !set.Good()
	e.terms = append(e.terms, set.Reads()...)
}

// Remove forgets a placement.
func (x *Index) Remove(key fleet.Key) {
	e, ok := x.entries[key]
	if !ok {
		return
	}
	delete(x.entries, key)
	for _, term := range e.terms {
		unlink(x.byTerm, term, e)
	}
	for _, name := range e.names {
		unlink(x.bySet, name, e)
	}
	unlink(x.byNamespace, key.Namespace, e)
	for facet := range e.facets.Each() {
		unlink(x.byFacet, facet, e)
	}
}

func (x *Index) link(e *entry) {
	for _, term := range e.terms {
		link(x.byTerm, term, e)
	}
	for _, name := range e.names {
		link(x.bySet, name, e)
	}
	link(x.byNamespace, e.key.Namespace, e)
	for facet := range e.facets.Each() {
		link(x.byFacet, facet, e)
	}
}

func link[K comparable](in map[K]members, at K, e *entry) {
	if in[at] == nil {
		in[at] = members{}
	}
	in[at][e] = struct{}{}
}

func unlink[K comparable](in map[K]members, at K, e *entry) {
	delete(in[at], e)
	if len(in[at]) == 0 {
		delete(in, at)
	}
}

// Len returns the number of placements.
func (x *Index) Len() int { return len(x.entries) }

// InNamespace returns the placements of a namespace, sorted.
func (x *Index) InNamespace(namespace string) []fleet.Key { return keys(x.byNamespace[namespace]) }

// Using returns the placements of the namespaces that bind a set of this name, sorted, whether it exists or not. They
// include those that ask for other sets only: what they say of themselves depends on whether any bound set exists.
func (x *Index) Using(set string) []fleet.Key { return keys(x.bySet[set]) }

func keys(in members) []fleet.Key {
	out := make([]fleet.Key, 0, len(in))
	for e := range in {
		out = append(out, e.key)
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}

// ClusterChanged returns the placements that a change of one cluster can touch, sorted. before is nil for a cluster
// that is new, after for one that is gone; s is the fleet after the change.
func (x *Index) ClusterChanged(s *fleet.Snapshot, before, after *fleet.Cluster) []fleet.Key {
	c := compare(s, before, after)
	touched := members{}
	for e := range x.near(c) {
		if e.touchedBy(c) {
			touched[e] = struct{}{}
		}
	}
	return keys(touched)
}

// near returns the placements that read something which changed.
func (x *Index) near(c difference) members {
	if c.everybody {
		all := make(members, len(x.entries))
		for _, e := range x.entries {
			all[e] = struct{}{}
		}
		return all
	}
	out := members{}
	for _, term := range c.terms {
		maps.Copy(out, x.byTerm[term])
	}
	for facet := range c.facets.Each() {
		maps.Copy(out, x.byFacet[facet])
	}
	return out
}

// ScoreChanged returns the placements that a change of one add-on score of a cluster can touch, sorted. c is nil
// where there is no such cluster.
func (x *Index) ScoreChanged(c *fleet.Cluster, resource string) []fleet.Key {
	touched := members{}
	for _, e := range x.entries {
		if c != nil && e.program != nil && e.program.ReadsScore(resource) && (e.broken || e.chooses(c) && e.passes(c)) {
			touched[e] = struct{}{}
		}
	}
	return keys(touched)
}
