package visibility

import (
	"iter"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/internal/access"
)

// View is what one subject sees of a world. It belongs to one goroutine.
type View struct {
	snapshot    *Snapshot
	permissions Permissions
	// members are the clusters of the sets in sight; nil until they are asked for.
	members *bitset.BitSet
}

// ViewFor returns what a subject sees.
func (w *Snapshot) ViewFor(who access.Subject) *View {
	return &View{snapshot: w, permissions: w.Permissions(who)}
}

// Rights returns the rights by which the subject sees what it sees.
func (s *View) Rights() Permissions { return s.permissions }

// Object returns an object by name. Ok is false where there is none, or none in sight: the two look the same.
func (s *View) Object(kind Kind, name string) (entry Entry, ok bool) {
	entry, ok = s.snapshot.objects[kind].Get(name)
	return entry, ok && s.Visible(kind, name)
}

// Visible says whether an object of a name is in sight, or would be if it existed: a cluster by its name alone, or that is in
// a set in sight.
func (s *View) Visible(kind Kind, name string) bool {
	if kind == Set {
		return s.permissions.Sets.Has(name)
	}
	if s.permissions.Clusters.Has(name) {
		return true
	}
	id, ok := s.snapshot.fleet.ID(name)
	return ok && s.setMembers().Test(id)
}

// Objects yields the objects in sight whose names come after a name, by name.
func (s *View) Objects(kind Kind, after string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		names, all := s.names(kind)
		if all {
			s.snapshot.objects[kind].Ascend(after, func(name string, entry Entry) bool {
				return name == after || yield(entry)
			})
			return
		}
		start, found := slices.BinarySearch(names, after)
		if found {
			start++
		}
		for _, name := range names[start:] {
			if entry, ok := s.snapshot.objects[kind].Get(name); ok && !yield(entry) {
				return
			}
		}
	}
}

// names returns the names that are in sight, sorted, among them some that no object has; or that all are.
func (s *View) names(kind Kind) (names []string, all bool) {
	if kind == Set {
		return slices.Sorted(keys(s.permissions.Sets)), s.permissions.Sets.All
	}
	if s.permissions.Clusters.All {
		return nil, true
	}
	names = slices.Collect(keys(s.permissions.Clusters))
	for id := range s.setMembers().EachSet() {
		names = append(names, s.snapshot.fleet.Name(id))
	}
	slices.Sort(names)
	return slices.Compact(names), false
}

func keys(names access.NameSet) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range names.Names {
			if !yield(name) {
				return
			}
		}
	}
}

// setMembers returns the clusters that are in a set in sight.
func (s *View) setMembers() *bitset.BitSet {
	if s.members != nil {
		return s.members
	}
	s.members = &bitset.BitSet{}
	for entry := range s.Objects(Set, "") {
		if set, ok := s.snapshot.fleet.Set(entry.Object.GetName()); ok {
			set.AddMembers(s.snapshot.fleet, s.members)
		}
	}
	return s.members
}
