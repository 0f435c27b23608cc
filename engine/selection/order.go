package selection

import (
	"cmp"
	"slices"

	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/score"
)

// order compares candidates by their position in the list, whoever else is chosen.
//
// The order is: tier, then not demoted, then total score, highest first, then name. Where Balance has a weight, a cluster
// that is already selected goes before others of the same total: what other placements do must not displace it. Where
// Steady has one, a cluster that is already selected is not demoted: a taint that only advises evicts nobody.
type order struct {
	tiers           []int
	totals          []int64
	demoted, seated []bool
	names           []string
}

func newOrder(in score.Input, p *program.Program, names []string, tiers []int, totals []int64) order {
	out := order{tiers: tiers, totals: totals, names: names, demoted: make([]bool, len(totals)), seated: make([]bool, len(totals))}
	balance := p.Scores(program.Balance)
	steady := slices.ContainsFunc(p.Prioritizers, func(by program.Prioritizer) bool {
		return by.Kind == program.Steady && by.Weight > 0
	})
	for i, id := range in.Candidates {
		incumbent := in.Incumbents.Test(id)
		out.demoted[i] = in.Demoted.Test(id) && (!incumbent || !steady)
		out.seated[i] = incumbent && balance
	}
	return out
}

func (o order) compare(a, b int) int {
	if c := o.byStanding(a, b); c != 0 {
		return c
	}
	if c := cmp.Compare(o.totals[b], o.totals[a]); c != 0 {
		return c
	}
	return o.byName(a, b)
}

// byStanding compares what goes before every score: the tier, and whether a taint advises against the cluster.
func (o order) byStanding(a, b int) int {
	return cmp.Or(cmp.Compare(o.tiers[a], o.tiers[b]), first(!o.demoted[a], !o.demoted[b]))
}

// byName breaks ties of the same score: clusters that are seated first, then names.
func (o order) byName(a, b int) int {
	if c := first(o.seated[a], o.seated[b]); c != 0 {
		return c
	}
	return cmp.Compare(o.names[a], o.names[b])
}

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

// top returns the best n of the positions that are open, in no order. It keeps a heap of n, so that choosing few of many
// is cheap.
func (o order) top(n int, open func(position int) bool) []int {
	kept := make(heap, 0, max(0, min(n, len(o.totals))))
	worst := func(a, b int) int { return o.compare(b, a) }
	for i := range o.totals {
		switch {
		case !open(i):
		case n >= len(o.totals):
			kept = append(kept, i)
		case len(kept) < n:
			kept.push(i, worst)
		case n > 0 && o.compare(i, kept[0]) < 0:
			kept[0] = i
			kept.sink(0, worst)
		}
	}
	return kept
}
