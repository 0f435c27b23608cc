package group

import (
	"cmp"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// Keep returns the prior groups with only the clusters in stay. Slices that nobody stays in are dropped, and indices
// close up. There is always one group with one slice, possibly empty.
func Keep(s *fleet.Snapshot, prior []fleet.Slice, stay *bitset.BitSet) []Group {
	ordered := slices.Clone(prior)
	slices.SortStableFunc(ordered, func(a, b fleet.Slice) int {
		return cmp.Or(cmp.Compare(a.GroupIndex, b.GroupIndex), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Number, b.Number))
	})
	var out []Group
	var last groupID
	seen := map[string]bool{}
	for _, slice := range ordered {
		var names []string
		for _, name := range slice.Clusters {
			if id, ok := s.ID(name); ok && stay.Test(id) && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			continue
		}
		slices.Sort(names)
		if group := (groupID{slice.GroupIndex, slice.Group}); len(out) == 0 || group != last {
			out, last = append(out, Group{Name: slice.Group}), group
		}
		home := &out[len(out)-1]
		home.Slices = append(home.Slices, Slice{Number: slice.Number, Clusters: names})
	}
	if len(out) == 0 {
		out = []Group{{Slices: []Slice{{Number: 1}}}}
	}
	return out
}
