package enginetest

import (
	"maps"
	"slices"
)

// ideal returns what a view chooses without a budget, and the clusters that a brake keeps, as far as so many are wanted.
func (r *run) ideal(from *view) map[string]bool {
	stable := r.stabilize(from)
	keep, added := both(from.selected, stable), false
	for _, name := range r.braked() {
		if !stable[name] && r.wants(len(keep)) {
			keep[name], added = true, true
		}
	}
	if !added {
		return stable
	}
	return from.pick(keep, from.in)
}

// braked returns the incumbents that a brake keeps, sorted.
func (r *run) braked() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.w.Braked[r.key])), func(name string) bool {
		return !r.incumbents[name] || !r.w.Clusters[name].DeletionTimestamp.IsZero()
	})
}
