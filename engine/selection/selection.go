// Package selection owns the choice among candidates: their total scores, their order, and how many are taken. It
// refuses to know where scores come from.
//
// The order is total: two candidates are never equal, so the same input always yields the same choice.
package selection

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/score"
)

// Ranking is every candidate with its total score, and who was chosen.
type Ranking struct {
	// Columns hold what each prioritizer gave, in the program's order.
	Columns []score.Column
	// Candidates and Totals are parallel.
	Candidates []fleet.ID
	Totals     []int64
	// Chosen lists positions in Candidates, by cluster name.
	Chosen []int
	// Cut is the total of the last candidate chosen; it means nothing where nobody was.
	Cut int64

	order order
	// last is the position in Candidates of the last that was chosen, or -1.
	last int
}

// Choose scores the candidates and takes the best.
//
// The order of choice is: not demoted, then total score, highest first, then name. Where Balance has a weight, a cluster
// that is already selected goes before others of the same total: what other placements do must not displace it. Where
// Steady has one, a cluster that is already selected is not demoted: a taint that only advises evicts nobody.
func Choose(in score.Input, p *program.Program) *Ranking {
	out := &Ranking{Candidates: in.Candidates, Totals: make([]int64, len(in.Candidates))}
	for _, prioritizer := range p.Prioritizers {
		column := score.Of(in, prioritizer)
		for i, value := range column.Values {
			out.Totals[i] += prioritizer.Weight * value
		}
		out.Columns = append(out.Columns, column)
	}
	out.order = newOrder(in, p, out.Totals)
	wanted := len(in.Candidates)
	if p.Limited {
		wanted = min(wanted, p.Wanted)
	}
	out.Chosen, out.last = out.order.top(wanted), -1
	if wanted > 0 {
		out.last = slices.MaxFunc(out.Chosen, out.order.compare)
		out.Cut = out.Totals[out.last]
	}
	return out
}

// Position returns the rank of the i-th candidate, from 1.
func (r *Ranking) Position(i int) int {
	position := 1
	for j := range r.Candidates {
		if r.order.compare(j, i) < 0 {
			position++
		}
	}
	return position
}

// order compares candidates by their position in the list.
type order struct {
	totals          []int64
	demoted, seated []bool
	name            func(position int) string
}

func newOrder(in score.Input, p *program.Program, totals []int64) order {
	out := order{
		totals: totals, demoted: make([]bool, len(totals)), seated: make([]bool, len(totals)),
		name: func(i int) string { return in.Snapshot.Name(in.Candidates[i]) },
	}
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
	return cmp.Or(
		first(!o.demoted[a], !o.demoted[b]), cmp.Compare(o.totals[b], o.totals[a]), first(o.seated[a], o.seated[b]), o.byName(a, b))
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

func (o order) byName(a, b int) int { return cmp.Compare(o.name(a), o.name(b)) }

// top returns the best n positions, by name. It keeps a heap of n, so that choosing few of many is cheap.
func (o order) top(n int) []int {
	kept := &bounded{order: o, positions: make([]int, 0, n)}
	for i := range o.totals {
		switch {
		case n == len(o.totals):
			kept.positions = append(kept.positions, i)
		case len(kept.positions) < n:
			heap.Push(kept, i)
		case n > 0 && o.compare(i, kept.positions[0]) < 0:
			kept.positions[0] = i
			heap.Fix(kept, 0)
		}
	}
	slices.SortFunc(kept.positions, o.byName)
	return kept.positions
}

// bounded is a heap of positions with the worst on top.
type bounded struct {
	order     order
	positions []int
}

func (b *bounded) Len() int           { return len(b.positions) }
func (b *bounded) Less(i, j int) bool { return b.order.compare(b.positions[i], b.positions[j]) > 0 }
func (b *bounded) Swap(i, j int)      { b.positions[i], b.positions[j] = b.positions[j], b.positions[i] }

// Push is for container/heap alone.
func (b *bounded) Push(x any) {
	position, ok := x.(int)
	if !ok {
		panic("selection: the heap holds positions")
	}
	b.positions = append(b.positions, position)
}

// Pop is for container/heap alone.
func (b *bounded) Pop() any {
	last := len(b.positions) - 1
	out := b.positions[last]
	b.positions = b.positions[:last]
	return out
}
