// Package selection owns the choice among candidates: their total scores, their order, how they are spread, how many are
// taken, and which of those that would be dropped stay for now. It refuses to know where scores come from, and who may
// be chosen at all.
//
// Two candidates are never equal, so the same input always yields the same choice. A choice confirms itself: a run that
// starts from it, at the same instant, chooses it again.
package selection

import (
	"math"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/score"
)

// Input is what a choice depends on.
type Input struct {
	score.Input

	// Scope has the clusters that the placement may choose from, before any filter. An incumbent outside leaves at once.
	Scope *bitset.BitSet
	// Tier returns the tier of a candidate, which may depend on whether it is an incumbent; nil where there are no tiers.
	Tier func(id fleet.ID, incumbent bool) int
	// Past is what the placement remembers.
	Past ledger.Ledger
}

// Choose scores the candidates and chooses.
func Choose(in Input, p *program.Program) *Ranking {
	r := newRace(in, p)
	ideal := r.settle(in.Incumbents, in.Past.SameSpec)
	return newRanking(r, r.pace(ideal))
}

// race is the choosing of one placement.
type race struct {
	Input

	program *program.Program
	// seats is how many clusters are wanted.
	seats int
	// tree is nil where nothing divides the candidates.
	tree *tree
	// rounds are those worked out so far; the first is that of the incumbents.
	rounds []*round
}

func newRace(in Input, p *program.Program) *race {
	r := &race{Input: in, program: p, seats: math.MaxInt, tree: newTree(in.Snapshot, in.Candidates, p)}
	if p.Limited {
		r.seats = p.Wanted
	}
	r.round(in.Incumbents)
	return r
}

func (r *race) first() *round { return r.rounds[0] }

// among returns the position of a candidate. Ok is false where the cluster is none.
func (r *race) among(id fleet.ID) (position int, ok bool) {
	return slices.BinarySearch(r.Candidates, id)
}

// eligible says whether the candidate at a position has all that it must have to be chosen.
func (r *race) eligible(position int) bool {
	return r.tree == nil || r.tree.leafOf[position] != outside
}

// round is the candidates as a run sees them that starts from given incumbents: who of them is one, scored and in order.
type round struct {
	*race

	incumbents *bitset.BitSet
	// missing are the candidates that are none in this round: those let in only while they are incumbents.
	missing *bitset.BitSet
	columns []score.Column
	order   order
}

// round returns the round of some incumbents.
func (r *race) round(incumbents *bitset.BitSet) *round {
	for _, known := range r.rounds {
		if same(known.incumbents, incumbents) {
			return known
		}
	}
	out := &round{race: r, incumbents: incumbents, missing: r.strangers(incumbents)}
	out.order = newOrder(out)
	out.rank()
	r.rounds = append(r.rounds, out)
	return out
}

// strangers returns the guests that are not among some incumbents. They are read-only.
func (r *race) strangers(incumbents *bitset.BitSet) *bitset.BitSet {
	if r.Guests.None() {
		return r.Snapshot.Nobody()
	}
	return r.Guests.Difference(incumbents)
}

// absent says whether the candidate at a position is none in this round.
func (r *round) absent(position int) bool { return r.missing.Test(r.Candidates[position]) }

// rank scores the candidates of the round. The totals of those that are absent mean nothing.
func (r *round) rank() {
	in := r.Input.Input
	in.Incumbents = r.incumbents
	var positions []int
	if r.missing.Any() {
		in.Candidates = nil
		for i, id := range r.Candidates {
			if !r.absent(i) {
				positions, in.Candidates = append(positions, i), append(in.Candidates, id)
			}
		}
	}
	by, each := r.program.Prioritizers, len(in.Candidates)
	r.columns = make([]score.Column, 0, len(by))
	room := make([]int32, len(by)*each)
	for i, prioritizer := range by {
		column := r.column(in, i, room[i*each:(i+1)*each:(i+1)*each])
		r.columns = append(r.columns, column)
		if positions == nil {
			for j, value := range column.Values {
				r.order.totals[j] += prioritizer.Weight * int64(value)
			}
			continue
		}
		for j, value := range column.Values {
			r.order.totals[positions[j]] += prioritizer.Weight * int64(value)
		}
	}
}

// column returns what a prioritizer says in the round: what it said in the first, where it cannot have changed. There is
// room for its values.
func (r *round) column(in score.Input, prioritizer int, room []int32) score.Column {
	by := r.program.Prioritizers[prioritizer]
	if len(r.rounds) > 0 && r.Guests.None() && score.Fixed(by) {
		return r.first().columns[prioritizer]
	}
	return score.Of(in, by, room)
}

// same says whether two sets have the same members.
func same(a, b *bitset.BitSet) bool { return a == b || a.SymmetricDifferenceCardinality(b) == 0 }
