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
	r := newChooser(in, p)
	ideal := r.stabilize(in.Incumbents, in.Past.SameSpec)
	return newRanking(r, r.throttle(ideal))
}

// chooser is the choosing of one placement.
type chooser struct {
	Input

	program *program.Program
	// wanted is how many clusters are wanted.
	wanted int
	// tree is nil where nothing divides the candidates.
	tree *tree
	// passes are those worked out so far; the first is that of the incumbents.
	passes []*pass
}

func newChooser(in Input, p *program.Program) *chooser {
	r := &chooser{Input: in, program: p, wanted: math.MaxInt, tree: newTree(in.Snapshot, in.Candidates, p)}
	if p.Limited {
		r.wanted = p.Wanted
	}
	r.passFor(in.Incumbents)
	return r
}

func (r *chooser) firstPass() *pass { return r.passes[0] }

// positionOf returns the position of a candidate. Ok is false where the cluster is none.
func (r *chooser) positionOf(id fleet.ID) (position int, ok bool) {
	return slices.BinarySearch(r.Candidates, id)
}

// eligible says whether the candidate at a position has all that it must have to be chosen.
func (r *chooser) eligible(position int) bool {
	return r.tree == nil || r.tree.leafOf[position] != outside
}

// pass is the candidates as a run sees them that starts from given incumbents: who of them is one, scored and in order.
type pass struct {
	*chooser

	incumbents *bitset.BitSet
	// absent are the candidates that are none in this round: those let in only while they are incumbents.
	absent  *bitset.BitSet
	columns []score.Column
	order   order
}

// passFor returns the round of some incumbents.
func (r *chooser) passFor(incumbents *bitset.BitSet) *pass {
	for _, known := range r.passes {
		if equalSets(known.incumbents, incumbents) {
			return known
		}
	}
	out := &pass{chooser: r, incumbents: incumbents, absent: r.absentGuests(incumbents)}
	out.order = newOrder(out)
	out.score()
	r.passes = append(r.passes, out)
	return out
}

// absentGuests returns the guests that are not among some incumbents. They are read-only.
func (r *chooser) absentGuests(incumbents *bitset.BitSet) *bitset.BitSet {
	if r.RetainedOnly.None() {
		return r.Snapshot.EmptySet()
	}
	return r.RetainedOnly.Difference(incumbents)
}

// isAbsent says whether the candidate at a position is none in this round.
func (r *pass) isAbsent(position int) bool { return r.absent.Test(r.Candidates[position]) }

// score scores the candidates of the round. The totals of those that are absent mean nothing.
func (r *pass) score() {
	in := r.Input.Input
	in.Incumbents = r.incumbents
	var positions []int
	if r.absent.Any() {
		in.Candidates = nil
		for i, id := range r.Candidates {
			if !r.isAbsent(i) {
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
func (r *pass) column(in score.Input, prioritizer int, room []int32) score.Column {
	by := r.program.Prioritizers[prioritizer]
	if len(r.passes) > 0 && r.RetainedOnly.None() && score.IndependentOfSelection(by) {
		return r.firstPass().columns[prioritizer]
	}
	return score.Compute(in, by, room)
}

// equalSets says whether two sets have the same members.
func equalSets(a, b *bitset.BitSet) bool { return a == b || a.SymmetricDifferenceCardinality(b) == 0 }
