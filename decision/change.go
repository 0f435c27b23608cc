package decision

import "slices"

// Change is the difference between two readings. Each list is sorted.
type Change struct {
	// Added are selected now and were not before.
	Added []string
	// Removed were selected before and are not now.
	Removed []string
	// Regrouped stayed selected, and are in a group with another index or name. When a group appears or goes, the groups
	// after it get another index, and all their clusters are here.
	Regrouped []string
}

// Empty reports whether the readings have the same clusters in the same groups.
func (c Change) Empty() bool { return len(c.Added)+len(c.Removed)+len(c.Regrouped) == 0 }

// Diff returns what changed from one reading to another.
func Diff(before, after Decisions) Change {
	var out Change
	for key, cluster := range after.Clusters() {
		old, was := before.GroupOf(cluster)
		switch {
		case !was:
			out.Added = append(out.Added, cluster)
		case old != key:
			out.Regrouped = append(out.Regrouped, cluster)
		}
	}
	for cluster := range before.groupIndex {
		if !after.Has(cluster) {
			out.Removed = append(out.Removed, cluster)
		}
	}
	for _, names := range [][]string{out.Added, out.Removed, out.Regrouped} {
		slices.Sort(names)
	}
	return out
}
