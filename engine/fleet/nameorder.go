package fleet

import (
	"slices"

	"github.com/bits-and-blooms/bitset"
)

// nameOrder is the names of a snapshot in order. Snapshots with the same names share it: a fleet changes more often
// than its names.
type nameOrder struct {
	ids   []ID
	ranks []int32
}

func newNameOrder(s *Snapshot) *nameOrder {
	out := &nameOrder{ids: make([]ID, 0, s.ids.Len()), ranks: make([]int32, s.idLimit)}
	s.ids.Scan(func(_ string, id ID) bool {
		out.ranks[id] = int32(len(out.ids)) //nolint:gosec // bounded by the number of clusters
		out.ids = append(out.ids, id)
		return true
	})
	return out
}

// NameRanks returns, by ID, the position of a name among all names in order, so that names can be compared without
// reading them. It is read-only, and has no meaning for IDs without a name.
func (s *Snapshot) NameRanks() []int32 { return s.nameOrder.ranks }

// ByName returns the IDs of a set in the order of their names. Each ID must have a name. Small sets are sorted; large
// sets are picked from the order of all names.
func (s *Snapshot) ByName(set *bitset.BitSet) []ID {
	a := s.nameOrder
	out := make([]ID, 0, set.Count())
	if few := len(a.ids) / 16; cap(out) < few {
		out = set.AppendTo(out)
		slices.SortFunc(out, func(x, y ID) int { return int(a.ranks[x] - a.ranks[y]) })
		return out
	}
	for _, id := range a.ids {
		if set.Test(id) {
			out = append(out, id)
		}
	}
	return out
}
