package visibility

import (
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Change is the change of one object for a subject. Before is nil where the object was not visible, and After where it no
// longer is.
type Change struct {
	Before, After *Entry
}

// Changes yields, by name, the differences between two views of the same subject, among the objects that keep accepts. The
// delta is that of their snapshots. An object that was replaced by another with the same name yields two changes.
func Changes(kind Kind, before, after *View, delta Delta, keep func(Object) bool) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		for _, name := range changedNames(kind, before, after, delta) {
			was, is := before.matching(kind, name, keep), after.matching(kind, name, keep)
			switch {
			case was == nil && is == nil, was != nil && is != nil && was.Revision == is.Revision:
			case was != nil && is != nil && was.Object.GetUID() != is.Object.GetUID():
				if !yield(Change{Before: was}) || !yield(Change{After: is}) {
					return
				}
			default:
				if !yield(Change{Before: was, After: is}) {
					return
				}
			}
		}
	}
}

// changedNames returns the sorted names of all objects that may have changed.
func changedNames(kind Kind, before, after *View, delta Delta) []string {
	if !delta.AffectsAll {
		return slices.Sorted(maps.Keys(delta.Names[kind]))
	}
	names := sets.New[string]()
	for _, sight := range []*View{before, after} {
		for entry := range sight.Objects(kind) {
			names.Insert(entry.Object.GetName())
		}
	}
	return sets.List(names)
}

func (v *View) matching(kind Kind, name string, keep func(Object) bool) *Entry {
	entry, ok := v.Object(kind, name)
	if !ok || !keep(entry.Object) {
		return nil
	}
	return &entry
}
