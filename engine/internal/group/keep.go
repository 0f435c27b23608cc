package group

import (
	"cmp"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// Keep returns the prior groups with only the clusters in stay, each once. Empty slices are removed, and the indexes of
// later groups move up. A cluster changes its slice only if the slice has no valid number or is above the limit. The
// result always has at least one group with one slice, possibly empty.
func Keep(s *fleet.Snapshot, prior []fleet.Slice, stay *bitset.BitSet) []Group {
	ordered := slices.Clone(prior)
	slices.SortStableFunc(ordered, func(a, b fleet.Slice) int {
		return cmp.Or(cmp.Compare(a.GroupIndex, b.GroupIndex), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Number, b.Number))
	})
	var pools []*partialGroup
	var last groupKey
	seen, taken := map[string]bool{}, map[int]bool{}
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
		if group := (groupKey{slice.GroupIndex, slice.Group}); len(pools) == 0 || group != last {
			pools, last = append(pools, &partialGroup{name: slice.Group}), group
		}
		pools[len(pools)-1].retain(slice.Number, names, taken)
	}
	if len(pools) == 0 {
		pools = []*partialGroup{{}}
	}
	return fillAll(pools)
}
