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
	// places are those of the names, by ID.
	places []int32
	// tiers is nil where there are none.
	tiers           []int
	totals          []int64
	demoted, seated *bitset.BitSet
	// ranked says that something goes before the scores.
	ranked bool
}

func newOrder(r *round) order {
	out := order{
		candidates: r.Candidates, places: r.Snapshot.Places(), tiers: r.tiers(), totals: make([]int64, len(r.Candidates)),
		demoted: r.Demoted, seated: r.Snapshot.Nobody(),
	}
	if r.program.Scores(program.Balance) {
		out.seated = r.incumbents
	}
	if r.Demoted.Any() && slices.ContainsFunc(r.program.Prioritizers, func(by program.Prioritizer) bool {
		return by.Kind == program.Steady && by.Weight > 0
	}) {
		out.demoted = r.Demoted.Difference(r.incumbents)
	}
	out.ranked = out.tiers != nil || out.demoted.Any()
	return out
}

func (o *order) compare(a, b int) int {
	if c := o.byStanding(a, b); c != 0 {
		return c
	}
	if c := cmp.Compare(o.totals[b], o.totals[a]); c != 0 {
		return c
	}
	return o.byName(a, b)
}

// byStanding compares what goes before every score: the tier, and whether a taint advises against the cluster.
func (o *order) byStanding(a, b int) int {
	if !o.ranked {
		return 0
	}
	if o.tiers != nil && o.tiers[a] != o.tiers[b] {
		return cmp.Compare(o.tiers[a], o.tiers[b])
	}
	return first(!o.isDemoted(a), !o.isDemoted(b))
}

// byName breaks ties of the same score: clusters that are seated first, then names.
func (o *order) byName(a, b int) int {
	x, y := o.candidates[a], o.candidates[b]
	if c := first(o.seated.Test(x), o.seated.Test(y)); c != 0 {
		return c
	}
	return cmp.Compare(o.places[x], o.places[y])
}

func (o *order) isDemoted(position int) bool { return o.demoted.Test(o.candidates[position]) }

// first puts what holds before what does not.
func first(a, b bool) int {
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
		case n == 0 || !o.ranked && o.totals[i] < o.totals[kept[0]]:
		case o.compare(i, kept[0]) < 0:
			kept[0] = i
			kept.sink(0, worst)
		}
	}
	return kept
}
