package sight

import (
	"iter"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/internal/access"
)

// Sight is what one subject sees of a world. It belongs to one goroutine.
type Sight struct {
	world  *World
	rights Rights
	// members are the clusters of the sets in sight; nil until they are asked for.
	members *bitset.BitSet
}

// As returns what a subject sees.
func (w *World) As(who access.Subject) *Sight {
	return &Sight{world: w, rights: w.Rights(who)}
}

// Rights returns the rights by which the subject sees what it sees.
func (s *Sight) Rights() Rights { return s.rights }

// Object returns an object by name. Ok is false where there is none, or none in sight: the two look the same.
func (s *Sight) Object(kind Kind, name string) (entry Entry, ok bool) {
	entry, ok = s.world.objects[kind].Get(name)
	return entry, ok && s.Sees(kind, name)
}

// Sees says whether an object of a name is in sight, or would be if it existed: a cluster by its name alone, or that is in
// a set in sight.
func (s *Sight) Sees(kind Kind, name string) bool {
	if kind == Set {
		return s.rights.Sets.Has(name)
	}
	if s.rights.Clusters.Has(name) {
		return true
	}
	id, ok := s.world.fleet.ID(name)
	return ok && s.inSets().Test(id)
}

// Objects yields the objects in sight whose names come after a name, by name.
func (s *Sight) Objects(kind Kind, after string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		names, all := s.names(kind)
		if all {
			s.world.objects[kind].Ascend(after, func(name string, entry Entry) bool {
				return name == after || yield(entry)
			})
			return
		}
		start, found := slices.BinarySearch(names, after)
		if found {
			start++
		}
		for _, name := range names[start:] {
			if entry, ok := s.world.objects[kind].Get(name); ok && !yield(entry) {
				return
			}
		}
	}
}

// names returns the names that are in sight, sorted, among them some that no object has; or that all are.
func (s *Sight) names(kind Kind) (names []string, all bool) {
	if kind == Set {
		return slices.Sorted(keys(s.rights.Sets)), s.rights.Sets.All
	}
	if s.rights.Clusters.All {
		return nil, true
	}
	names = slices.Collect(keys(s.rights.Clusters))
	for id := range s.inSets().EachSet() {
		names = append(names, s.world.fleet.Name(id))
	}
	slices.Sort(names)
	return slices.Compact(names), false
}

func keys(names access.Names) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range names.Names {
			if !yield(name) {
				return
			}
		}
	}
}

// inSets returns the clusters that are in a set in sight.
func (s *Sight) inSets() *bitset.BitSet {
	if s.members != nil {
		return s.members
	}
	s.members = &bitset.BitSet{}
	for entry := range s.Objects(Set, "") {
		if set, ok := s.world.fleet.Set(entry.Object.GetName()); ok {
			set.AddMembers(s.world.fleet, s.members)
		}
	}
	return s.members
}
