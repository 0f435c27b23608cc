package program

import (
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
// to one goroutine at a time, and to ask it is to use it.
type Index struct {
	namespaces map[string]*namespace
	// namespacesBySet are the namespaces that bind a set of a name.
	namespacesBySet map[string]map[string]struct{}
	size            int

	sets          map[*fleet.Set]*indexedSet
	scopes        map[string]*scope
	subscriptions map[string]*subscription
	facts         factTable
	// unguarded are the readers that have no gates, counting those to whom matters that a cluster is selected which they may not
	// choose; the others are by what they read apart from facts.
	unguarded, countsRemovals, cpu, memory bucket
	facets                                 buckets[celenv.Facet]
	scores                                 buckets[string]

	// changeSeq is how many changes were looked at.
	changeSeq uint64
	// found are the readers that the last change touches, keys the placements, lists where readers were looked for, and text
	// is what was written last. They are kept so that their memory is used again.
	found  []*subscription
	keys   []fleet.Key
	lists  struct{ factBuckets, guardBuckets, scopeBuckets []bucket }
	buffer []byte
}

// namespace is a namespace with placements.
type namespace struct {
	// sets are the names of all sets that it binds.
	sets []string
	// slots are its placements by name.
	slots map[string]slot
}

// NewIndex returns an index of no placements.
func NewIndex() *Index {
	return &Index{
		namespaces: map[string]*namespace{}, namespacesBySet: map[string]map[string]struct{}{},
		sets: map[*fleet.Set]*indexedSet{}, scopes: map[string]*scope{}, subscriptions: map[string]*subscription{},
		facts: factTable{byKey: map[factKey]*fact{}}, facets: buckets[celenv.Facet]{}, scores: buckets[string]{},
	}
}

// Put adds a placement or replaces it. Put it again whenever its program, the bindings of its namespace or one of
// the sets that they name has changed. p is nil where the placement does not compile.
func (x *Index) Put(s *fleet.Snapshot, key fleet.Key, p *Program) {
	in := x.namespaces[key.Namespace]
	if in == nil {
		in = &namespace{slots: map[string]slot{}}
		x.namespaces[key.Namespace] = in
	}
	x.setBindings(key.Namespace, in, s.BoundSets(key.Namespace))
	next := x.addPlacement(x.dependenciesOf(s, key.Namespace, p), key)
	old, replaced := in.slots[key.Name]
	in.slots[key.Name] = next
	if replaced {
		x.removePlacement(old)
	} else {
		x.size++
	}
}

// setBindings notes which sets a namespace binds.
func (x *Index) setBindings(name string, in *namespace, sets []string) {
	if slices.Equal(in.sets, sets) {
		return
	}
	for _, set := range in.sets {
		if delete(x.namespacesBySet[set], name); len(x.namespacesBySet[set]) == 0 {
			delete(x.namespacesBySet, set)
		}
	}
	for _, set := range sets {
		if x.namespacesBySet[set] == nil {
			x.namespacesBySet[set] = map[string]struct{}{}
		}
		x.namespacesBySet[set][name] = struct{}{}
	}
	in.sets = sets
}

// Remove forgets a placement.
func (x *Index) Remove(key fleet.Key) {
	in := x.namespaces[key.Namespace]
	if in == nil {
		return
	}
	old, known := in.slots[key.Name]
	if !known {
		return
	}
	x.size--
	delete(in.slots, key.Name)
	x.removePlacement(old)
	if len(in.slots) == 0 {
		x.setBindings(key.Namespace, in, nil)
		delete(x.namespaces, key.Namespace)
	}
}

// Len returns the number of placements.
func (x *Index) Len() int { return x.size }

// ByNamespace returns the placements of a namespace, sorted.
func (x *Index) ByNamespace(name string) []fleet.Key {
	var out []fleet.Key
	if in := x.namespaces[name]; in != nil {
		for placement := range in.slots {
			out = append(out, fleet.Key{Namespace: name, Name: placement})
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}

// BySet returns the placements of the namespaces that bind a set of this name, sorted, whether it exists or not. They
// include those that ask for other sets only: what they say of themselves depends on whether any bound set exists.
func (x *Index) BySet(set string) []fleet.Key {
	var out []fleet.Key
	for namespace := range x.namespacesBySet[set] {
		out = append(out, x.ByNamespace(namespace)...)
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}
