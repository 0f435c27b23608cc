package plan

import (
	"slices"

	"github.com/berth-project/berth/engine/fleet"
)

// The reasons why clusters change their decision group.
const (
	// RegroupTooLarge means that the group was above its bound.
	RegroupTooLarge = "their decision group was too large"
	// RegroupStrategy means that the group strategy changed.
	RegroupStrategy = "spec.decisionStrategy changed"
)

// moves returns the added and removed clusters over all stored slices, sorted.
func (d *diff) moves() (added, removed []string) {
	for name := range d.wanted {
		if _, was := d.stored[name]; !was {
			added = append(added, name)
		}
	}
	for name := range d.stored {
		if _, stays := d.wanted[name]; !stays {
			removed = append(removed, name)
		}
	}
	slices.Sort(added)
	slices.Sort(removed)
	return added, removed
}

// restored returns the added clusters that another client removed, sorted: the snapshot still selects them, or their slice is not
// stored although the status of the placement lists it.
func (d *diff) restored(added []string) []string {
	if len(added) == 0 {
		return nil
	}
	removed := map[string]bool{}
	if d.result.Trace != nil {
		for _, slice := range d.result.Trace.Snapshot.Slices(d.result.Key) {
			for _, name := range slice.Clusters {
				removed[name] = true
			}
		}
	}
	deleted := map[int]bool{}
	for _, c := range d.changes {
		if name := SliceName(d.placement.Name, c.target.number); c.stored == nil && d.reported(name) {
			deleted[c.target.number] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(added), func(name string) bool { return !removed[name] && !deleted[d.wanted[name]] })
}

// reported reports whether the stored status of the placement lists a slice.
func (d *diff) reported(slice string) bool {
	for _, group := range d.placement.Status.DecisionGroups {
		if slices.Contains(group.Decisions, slice) {
			return true
		}
	}
	return false
}

// regrouped returns the clusters that stay and had to change their decision group, sorted, and why. A new index of a group,
// because a group before it is gone, does not count.
func (d *diff) regrouped() (names []string, reason string) {
	if len(d.result.Regrouped) > 0 {
		return d.result.Regrouped, RegroupTooLarge
	}
	former := map[string]fleet.Slice{} // by cluster, of slices that were filled under another strategy
	for _, slice := range d.own {
		if was := ReadSlice(slice); was.Strategy != "" && was.Strategy != d.result.Fingerprint {
			for _, name := range was.Clusters {
				former[name] = was
			}
		}
	}
	if len(former) == 0 || !d.result.Decided {
		return nil, ""
	}
	for _, slice := range d.result.Slices() {
		for _, name := range slice.Clusters {
			if was, ok := former[name]; ok && !sameGroup(was, slice) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil, ""
	}
	slices.Sort(names)
	return names, RegroupStrategy
}

// sameGroup reports whether two slices are of the same decision group.
func sameGroup(a, b fleet.Slice) bool { return a.Group == b.Group && a.GroupIndex == b.GroupIndex }
