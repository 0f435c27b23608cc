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
func (s *Snapshot) ViewFor(subject access.Subject) *View {
	return &View{snapshot: s, permissions: s.Permissions(subject)}
}

// Object returns an object by name. Ok is false where it does not exist or is not visible.
func (v *View) Object(kind Kind, name string) (entry Entry, ok bool) {
	entry, ok = v.snapshot.objects[kind].Get(name)
	return entry, ok && v.Visible(kind, name)
}

// Visible reports whether an object of a name is visible, or would be if it existed.
func (v *View) Visible(kind Kind, name string) bool {
	if kind == Set {
		return v.permissions.Sets.Has(name)
	}
	if v.permissions.Clusters.Has(name) {
		return true
	}
	id, ok := v.snapshot.fleet.ID(name)
	return ok && v.setMembers().Test(id)
}

// Objects yields the visible objects by name.
func (v *View) Objects(kind Kind) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		names, all := v.names(kind)
		if all {
			v.snapshot.objects[kind].Scan(func(_ string, entry Entry) bool { return yield(entry) })
			return
		}
		for _, name := range names {
			if entry, ok := v.snapshot.objects[kind].Get(name); ok && !yield(entry) {
				return
			}
		}
	}
}

// names returns the visible names, sorted, or that all names are visible. Some of the names may not exist.
func (v *View) names(kind Kind) (names []string, all bool) {
	if kind == Set {
		return slices.Sorted(keys(v.permissions.Sets)), v.permissions.Sets.All
	}
	if v.permissions.Clusters.All {
		return nil, true
	}
	names = slices.Collect(keys(v.permissions.Clusters))
	for id := range v.setMembers().EachSet() {
		names = append(names, v.snapshot.fleet.Name(id))
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
func (v *View) setMembers() *bitset.BitSet {
	if v.members != nil {
		return v.members
	}
	v.members = &bitset.BitSet{}
	for entry := range v.Objects(Set) {
		if set, ok := v.snapshot.fleet.Set(entry.Object.GetName()); ok {
			set.AddMembers(v.snapshot.fleet, v.members)
		}
	}
	return v.members
}
