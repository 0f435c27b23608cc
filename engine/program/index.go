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
	// binding are the namespaces that bind a set of a name.
	binding map[string]map[string]struct{}
	size    int

	areas   map[*fleet.Set]*area
	scopes  map[string]*scope
	readers map[string]*reader
	facts   facts
	// open are the readers that have no gates, counting those to whom matters that a cluster is selected which they may not
	// choose; the others are by what they read apart from facts.
	open, counting, cpu, memory shelf
	facets                      shelves[celenv.Facet]
	scores                      shelves[string]

	// turn is how many changes were looked at.
	turn uint64
	// found are the readers that the last change touches, keys the placements, lists where readers were looked for, and text
	// is what was written last. They are kept so that their memory is used again.
	found []*reader
	keys  []fleet.Key
	lists struct{ concerned, gated, choosing []shelf }
	text  []byte
}

// namespace is a namespace with placements.
type namespace struct {
	// sets are the names of all sets that it binds.
	sets []string
	// seats are its placements by name.
	seats map[string]seat
}

// NewIndex returns an index of no placements.
func NewIndex() *Index {
	return &Index{
		namespaces: map[string]*namespace{}, binding: map[string]map[string]struct{}{},
		areas: map[*fleet.Set]*area{}, scopes: map[string]*scope{}, readers: map[string]*reader{},
		facts: facts{answers: map[question]*fact{}}, facets: shelves[celenv.Facet]{}, scores: shelves[string]{},
	}
}

// Put adds a placement or replaces it. Put it again whenever its program, the bindings of its namespace or one of
// the sets that they name has changed. p is nil where the placement does not compile.
func (x *Index) Put(s *fleet.Snapshot, key fleet.Key, p *Program) {
	in := x.namespaces[key.Namespace]
	if in == nil {
		in = &namespace{seats: map[string]seat{}}
		x.namespaces[key.Namespace] = in
	}
	x.bind(key.Namespace, in, s.Bound(key.Namespace))
	next := x.join(x.reading(s, key.Namespace, p), key)
	old, replaced := in.seats[key.Name]
	in.seats[key.Name] = next
	if replaced {
		x.leave(old)
	} else {
		x.size++
	}
}

// bind notes which sets a namespace binds.
func (x *Index) bind(name string, in *namespace, sets []string) {
	if slices.Equal(in.sets, sets) {
		return
	}
	for _, set := range in.sets {
		if delete(x.binding[set], name); len(x.binding[set]) == 0 {
			delete(x.binding, set)
		}
	}
	for _, set := range sets {
		if x.binding[set] == nil {
			x.binding[set] = map[string]struct{}{}
		}
		x.binding[set][name] = struct{}{}
	}
	in.sets = sets
}

// Remove forgets a placement.
func (x *Index) Remove(key fleet.Key) {
	in := x.namespaces[key.Namespace]
	if in == nil {
		return
	}
	old, known := in.seats[key.Name]
	if !known {
		return
	}
	x.size--
	delete(in.seats, key.Name)
	x.leave(old)
	if len(in.seats) == 0 {
		x.bind(key.Namespace, in, nil)
		delete(x.namespaces, key.Namespace)
	}
}

// Len returns the number of placements.
func (x *Index) Len() int { return x.size }

// InNamespace returns the placements of a namespace, sorted.
func (x *Index) InNamespace(name string) []fleet.Key {
	var out []fleet.Key
	if in := x.namespaces[name]; in != nil {
		for placement := range in.seats {
			out = append(out, fleet.Key{Namespace: name, Name: placement})
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}

// Using returns the placements of the namespaces that bind a set of this name, sorted, whether it exists or not. They
// include those that ask for other sets only: what they say of themselves depends on whether any bound set exists.
func (x *Index) Using(set string) []fleet.Key {
	var out []fleet.Key
	for namespace := range x.binding[set] {
		out = append(out, x.InNamespace(namespace)...)
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}
