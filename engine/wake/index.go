package wake

import (
	"slices"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// Index finds the placements that a change can touch, by the facts that their programs read:
//
//	candidates                 the labels that the eligible sets select by
//	predicates, tiers, groups  names, labels and claims; for expressions the parts of a cluster they name, and scores
//	TaintToleration            taints
//	spread, anti-affinity      the values of their topology keys
//	a percentage of a budget   which of the selected clusters exist
//	ResourceAllocatable*       status.allocatable and capacity
//	AddOn                      the scores of one resource
//	Balance, Steady            nothing: a decision wakes no placement
//
// A placement that is not returned would get the same decision. An Index belongs to one goroutine at a time, and its
// queries write to it.
type Index struct {
	namespaces map[string]*namespace
	// namespacesBySet has the namespaces that bind a set, by the name of the set.
	namespacesBySet map[string]map[string]struct{}
	size            int

	sets          map[*fleet.Set]*indexedSet
	scopes        map[string]*scope
	subscriptions map[string]*subscription
	facts         factTable
	// unguarded has the subscriptions without guards, countsRemovals those with a percentage of all selected clusters. The
	// other buckets are by what the subscriptions read besides facts.
	unguarded, countsRemovals, cpu, memory bucket
	facets                                 buckets[fleet.Facet]
	scores                                 buckets[string]

	// awaiting is what placements name and no cluster in their reach has.
	awaiting map[fleet.Key][]program.Reference

	// changeSeq numbers the changes.
	changeSeq uint64
	// found, keys, lists and buffer are scratch space of the last query. They save allocations.
	found  []*subscription
	keys   []fleet.Key
	lists  struct{ factBuckets, guardBuckets, scopeBuckets []bucket }
	buffer []byte
}

// namespace is a namespace that has placements.
type namespace struct {
	// sets are the names of the bound sets.
	sets []string
	// slots holds the placements by name.
	slots map[string]slot
}

// NewIndex returns an empty index.
func NewIndex() *Index {
	return &Index{
		namespaces: map[string]*namespace{}, namespacesBySet: map[string]map[string]struct{}{},
		sets: map[*fleet.Set]*indexedSet{}, scopes: map[string]*scope{}, subscriptions: map[string]*subscription{},
		facts: factTable{byKey: map[factKey]*fact{}}, facets: buckets[fleet.Facet]{}, scores: buckets[string]{},
		awaiting: map[fleet.Key][]program.Reference{},
	}
}

// Put adds or replaces a placement. Call it again when its program, a binding of its namespace or a bound set has
// changed. p is nil if the placement does not compile.
func (i *Index) Put(s *fleet.Snapshot, key fleet.Key, p *program.Program) {
	in := i.namespaces[key.Namespace]
	if in == nil {
		in = &namespace{slots: map[string]slot{}}
		i.namespaces[key.Namespace] = in
	}
	i.setBindings(key.Namespace, in, s.BoundSets(key.Namespace))
	next := i.addPlacement(i.dependenciesOf(s, key.Namespace, p), key)
	old, replaced := in.slots[key.Name]
	in.slots[key.Name] = next
	if replaced {
		i.removePlacement(old)
	} else {
		i.size++
	}
}

// setBindings records the sets that a namespace binds.
func (i *Index) setBindings(name string, in *namespace, sets []string) {
	if slices.Equal(in.sets, sets) {
		return
	}
	for _, set := range in.sets {
		if delete(i.namespacesBySet[set], name); len(i.namespacesBySet[set]) == 0 {
			delete(i.namespacesBySet, set)
		}
	}
	for _, set := range sets {
		if i.namespacesBySet[set] == nil {
			i.namespacesBySet[set] = map[string]struct{}{}
		}
		i.namespacesBySet[set][name] = struct{}{}
	}
	in.sets = sets
}

// Remove deletes a placement.
func (i *Index) Remove(key fleet.Key) {
	in := i.namespaces[key.Namespace]
	if in == nil {
		return
	}
	old, known := in.slots[key.Name]
	if !known {
		return
	}
	i.size--
	delete(in.slots, key.Name)
	delete(i.awaiting, key)
	i.removePlacement(old)
	if len(in.slots) == 0 {
		i.setBindings(key.Namespace, in, nil)
		delete(i.namespaces, key.Namespace)
	}
}

// Len returns the number of placements.
func (i *Index) Len() int { return i.size }

// ByNamespace returns the placements of a namespace, sorted.
func (i *Index) ByNamespace(name string) []fleet.Key {
	var out []fleet.Key
	if in := i.namespaces[name]; in != nil {
		for placement := range in.slots {
			out = append(out, fleet.Key{Namespace: name, Name: placement})
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}

// BySet returns the placements of the namespaces that bind a set of this name, sorted. The set need not exist.
// Placements that name other sets only are included: their conditions depend on whether any bound set exists.
func (i *Index) BySet(set string) []fleet.Key {
	var out []fleet.Key
	for namespace := range i.namespacesBySet[set] {
		out = append(out, i.ByNamespace(namespace)...)
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}
