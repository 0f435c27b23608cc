package selection

import (
	"cmp"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// order compares candidates by their position in the list, whoever else is chosen.
//
// The order is: tier, then not demoted, then total score, highest first, then name. Where Balance has a weight, a cluster
// that is already selected goes before others of the same total: what other placements do must not displace it. Where
// Steady has one, a cluster that is already selected is not demoted: a taint that only advises evicts nobody.
type order struct {
	candidates []fleet.ID
	// nameOrder are those of the names, by ID.
	nameOrder []int32
	// tiers is nil where there are none.
	tiers                 []int
	totals                []int64
	penalized, incumbents *bitset.BitSet
	// precedence says that something goes before the scores.
	precedence bool
}

func newOrder(r *pass) order {
	out := order{
		candidates: r.Candidates, nameOrder: r.Snapshot.NameRanks(), tiers: r.tiers(), totals: make([]int64, len(r.Candidates)),
		penalized: r.Penalized, incumbents: r.Snapshot.EmptySet(),
	}
	if r.program.HasPrioritizer(program.Balance) {
		out.incumbents = r.incumbents
	}
	if r.Penalized.Any() && slices.ContainsFunc(r.program.Prioritizers, func(by program.Prioritizer) bool {
		return by.Kind == program.Steady && by.Weight > 0
	}) {
		out.penalized = r.Penalized.Difference(r.incumbents)
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

// byTierAndTaint compares what goes before every score: the tier, and whether a taint advises against the cluster.
func (o *order) byTierAndTaint(a, b int) int {
	if !o.precedence {
		return 0
	}
	if o.tiers != nil && o.tiers[a] != o.tiers[b] {
		return cmp.Compare(o.tiers[a], o.tiers[b])
	}
	return trueFirst(!o.isPenalized(a), !o.isPenalized(b))
}

// byName breaks ties of the same score: clusters that are seated first, then names.
func (o *order) byName(a, b int) int {
	x, y := o.candidates[a], o.candidates[b]
	if c := trueFirst(o.incumbents.Test(x), o.incumbents.Test(y)); c != 0 {
		return c
	}
	return cmp.Compare(o.nameOrder[x], o.nameOrder[y])
}

func (o *order) isPenalized(position int) bool { return o.penalized.Test(o.candidates[position]) }

// trueFirst puts what holds before what does not.
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

// top returns the best n of the positions whose clusters are not shut out, in no order. It keeps a heap of n, so that
// choosing few of many is cheap.
func (o *order) top(n int, shut *bitset.BitSet) []int {
	kept := make(heap, 0, max(0, min(n, len(o.totals))))
	worst := func(a, b int) int { return o.compare(b, a) }
	open := shut.None()
	for i, id := range o.candidates {
		switch {
		case !open && shut.Test(id):
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
