package visibility

import (
	"iter"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/internal/kube/access"
)

// View is the visible part of a snapshot for one subject. Only one goroutine may use it.
type View struct {
	snapshot    *Snapshot
	permissions Permissions
	// members are the clusters of the visible sets, nil until they are needed.
	members *bitset.BitSet
}

// ViewFor returns the view of a subject.
func (w *Snapshot) ViewFor(subject access.Subject) *View {
	return &View{snapshot: w, permissions: w.Permissions(subject)}
}

// Object returns an object by name. Ok is false where it does not exist or is not visible.
func (s *View) Object(kind Kind, name string) (entry Entry, ok bool) {
	entry, ok = s.snapshot.objects[kind].Get(name)
	return entry, ok && s.Visible(kind, name)
}

// Visible reports whether an object of a name is visible, or would be if it existed.
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

// Objects yields the visible objects by name.
func (s *View) Objects(kind Kind) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		names, all := s.names(kind)
		if all {
			s.snapshot.objects[kind].Scan(func(_ string, entry Entry) bool { return yield(entry) })
			return
		}
		for _, name := range names {
			if entry, ok := s.snapshot.objects[kind].Get(name); ok && !yield(entry) {
				return
			}
		}
	}
}

// names returns the visible names, sorted, or that all names are visible. Some of the names may not exist.
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

// setMembers returns the clusters of the visible sets.
func (s *View) setMembers() *bitset.BitSet {
	if s.members != nil {
		return s.members
	}
	s.members = &bitset.BitSet{}
	for entry := range s.Objects(Set) {
		if set, ok := s.snapshot.fleet.Set(entry.Object.GetName()); ok {
			set.AddMembers(s.snapshot.fleet, s.members)
		}
	}
	return s.members
}
