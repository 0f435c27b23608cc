package selection

import (
	"cmp"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// order compares candidates by position, independent of other chosen clusters.
//
// The order is: tier, then no penalty, then total score, highest first, then name. If Balance has a weight, an incumbent
// precedes others of the same total: decisions of other placements must not displace it. If Steady has a weight, an incumbent is
// not penalized: a PreferNoSelect taint evicts no cluster.
type order struct {
	candidates []fleet.ID
	// nameOrder is the rank of each name, by ID.
	nameOrder []int32
	// tiers is nil without tiers.
	tiers                 []int
	totals                []int64
	penalized, incumbents *bitset.BitSet
	// precedence is set if tiers or penalties precede the scores.
	precedence bool
}

func newOrder(r *pass) order {
	out := order{
		candidates: r.chooser.in.Candidates, nameOrder: r.chooser.in.Snapshot.NameRanks(), tiers: r.tiers(),
		totals:    make([]int64, len(r.chooser.in.Candidates)),
		penalized: r.chooser.in.Penalized, incumbents: r.chooser.in.Snapshot.EmptySet(),
	}
	if r.chooser.program.HasPrioritizer(program.Balance) {
		out.incumbents = r.incumbents
	}
	if r.chooser.in.Penalized.Any() && slices.ContainsFunc(r.chooser.program.Prioritizers, func(by program.Prioritizer) bool {
		return by.Kind == program.Steady && by.Weight > 0
	}) {
		out.penalized = r.chooser.in.Penalized.Difference(r.incumbents)
	}
	out.precedence = out.tiers != nil || out.penalized.Any()
	return out
}

func (o *order) compare(a, b int) int {
	if c := o.byTierAndTaint(a, b); c != 0 {
		return c
	}
	if c := cmp.Compare(o.totals[b], o.totals[a]); c != 0 {
		return c
	}
	return o.byName(a, b)
}

// byTierAndTaint compares what precedes the scores: the tier and the penalty of a PreferNoSelect taint.
func (o *order) byTierAndTaint(a, b int) int {
	if !o.precedence {
		return 0
	}
	if o.tiers != nil && o.tiers[a] != o.tiers[b] {
		return cmp.Compare(o.tiers[a], o.tiers[b])
	}
	return trueFirst(!o.isPenalized(a), !o.isPenalized(b))
}

// byName breaks ties: incumbents first, then by name.
func (o *order) byName(a, b int) int {
	x, y := o.candidates[a], o.candidates[b]
	if c := trueFirst(o.incumbents.Test(x), o.incumbents.Test(y)); c != 0 {
		return c
	}
	return cmp.Compare(o.nameOrder[x], o.nameOrder[y])
}

func (o *order) isPenalized(position int) bool { return o.penalized.Test(o.candidates[position]) }

// trueFirst sorts true before false.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// top returns the best n positions whose clusters are not excluded, unordered. It keeps a heap of n, so choosing few of many is
// cheap.
func (o *order) top(n int, excluded *bitset.BitSet) []int {
	kept := make(heap, 0, max(0, min(n, len(o.totals))))
	worst := func(a, b int) int { return o.compare(b, a) }
	all := excluded.None()
	for i, id := range o.candidates {
		switch {
		case !all && excluded.Test(id):
		case n >= len(o.totals):
			kept = append(kept, i)
		case len(kept) < n:
			kept.push(i, worst)
		case n == 0 || !o.precedence && o.totals[i] < o.totals[kept[0]]:
		case o.compare(i, kept[0]) < 0:
			kept[0] = i
			kept.sink(0, worst)
		}
	}
	return kept
}
