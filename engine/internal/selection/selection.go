// Package selection chooses among the candidates: total scores, order, spread, how many are taken, and which incumbents the
// disruption policy holds. Package score computes the scores and package filter finds the candidates.
//
// Two candidates are never equal, so the same input gives the same choice. A choice is stable: a run that starts from it at the
// same instant makes it again.
package selection

import (
	"math"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/internal/score"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/program"
)

// Input has everything that a choice depends on.
type Input struct {
	score.Input

	// Scope has the clusters of the eligible sets, before any filter. An incumbent outside is removed at once.
	Scope *bitset.BitSet
	// Tier returns the tier of a candidate, which may depend on whether it is an incumbent; nil without tiers.
	Tier func(id fleet.ID, incumbent bool) int
	// Past is the ledger of the placement.
	Past ledger.Ledger
	// Retained are the candidates that stay whatever their rank: incumbents in the grace after a start. Nil for none.
	Retained *bitset.BitSet
}

// Choose scores the candidates and chooses clusters.
func Choose(in Input, p *program.Program) *Ranking {
	c := newChooser(in, p)
	stable := c.stabilize(in.Incumbents, in.Past.SameSpec)
	out := newRanking(c, c.applyBudget(c.keep(in.Incumbents, stable)))
	if out.retained = c.in.Retained; out.retained.Any() {
		out.retained = out.retained.Difference(stable).Intersection(out.chosen)
	}
	return out
}

// chooser makes the choice of one placement.
type chooser struct {
	in Input

	program *program.Program
	// wanted is the number of clusters.
	wanted int
	// braked are the incumbents that a brake keeps, and kept these and the retained ones.
	braked, kept *bitset.BitSet
	// tree is nil without anti-affinity and spread constraints.
	tree *tree
	// passes are the computed passes; the first has the stored incumbents.
	passes []*pass
}

func newChooser(in Input, p *program.Program) *chooser {
	c := &chooser{in: in, program: p, wanted: math.MaxInt, tree: newTree(in.Snapshot, in.Candidates, p)}
	if p.Limited {
		c.wanted = p.Wanted
	}
	if in.Retained == nil {
		c.in.Retained = in.Snapshot.EmptySet()
	}
	c.braked = c.brakedIncumbents()
	if c.kept = c.braked; c.in.Retained.Any() {
		c.kept = c.braked.Union(c.in.Retained)
	}
	c.passFor(in.Incumbents)
	return c
}

func (c *chooser) firstPass() *pass { return c.passes[0] }

// positionOf returns the position of a candidate. Ok is false if the cluster is no candidate.
func (c *chooser) positionOf(id fleet.ID) (position int, ok bool) {
	return slices.BinarySearch(c.in.Candidates, id)
}

// eligible reports whether the candidate at a position has every required label and claim.
func (c *chooser) eligible(position int) bool {
	return c.tree == nil || c.tree.leafOf[position] != outside
}

// pass has the candidates, scored and in order, of a run that starts from some incumbents.
type pass struct {
	chooser *chooser

	incumbents *bitset.BitSet
	// absent are the candidates that are not in this pass: they qualify only as incumbents.
	absent  *bitset.BitSet
	columns []score.Column
	order   order
}

// passFor returns the pass for some incumbents.
func (c *chooser) passFor(incumbents *bitset.BitSet) *pass {
	for _, known := range c.passes {
		if equalSets(known.incumbents, incumbents) {
			return known
		}
	}
	out := &pass{chooser: c, incumbents: incumbents, absent: c.absentGuests(incumbents)}
	out.order = newOrder(out)
	out.score()
	c.passes = append(c.passes, out)
	return out
}

// absentGuests returns the candidates that qualify only as incumbents and are not among the given ones. They are read-only.
func (c *chooser) absentGuests(incumbents *bitset.BitSet) *bitset.BitSet {
	if c.in.RetainedOnly.None() {
		return c.in.Snapshot.EmptySet()
	}
	return c.in.RetainedOnly.Difference(incumbents)
}

// isAbsent reports whether the candidate at a position is not in this pass.
func (p *pass) isAbsent(position int) bool { return p.absent.Test(p.chooser.in.Candidates[position]) }

// score scores the candidates of the pass. The totals of absent candidates are meaningless.
func (p *pass) score() {
	in := p.chooser.in.Input
	in.Incumbents = p.incumbents
	var positions []int
	if p.absent.Any() {
		in.Candidates = nil
		for i, id := range p.chooser.in.Candidates {
			if !p.isAbsent(i) {
				positions, in.Candidates = append(positions, i), append(in.Candidates, id)
			}
		}
	}
	by, each := p.chooser.program.Prioritizers, len(in.Candidates)
	p.columns = make([]score.Column, 0, len(by))
	room := make([]int32, len(by)*each)
	for i, prioritizer := range by {
		column := p.column(in, i, room[i*each:(i+1)*each:(i+1)*each])
		p.columns = append(p.columns, column)
		if positions == nil {
			for j, value := range column.Values {
				p.order.totals[j] += prioritizer.Weight * int64(value)
			}
			continue
		}
		for j, value := range column.Values {
			p.order.totals[positions[j]] += prioritizer.Weight * int64(value)
		}
	}
}

// column returns the scores of a prioritizer: those of the first pass if they cannot have changed. room is the memory for new
// ones.
func (p *pass) column(in score.Input, prioritizer int, room []int32) score.Column {
	by := p.chooser.program.Prioritizers[prioritizer]
	if len(p.chooser.passes) > 0 && p.chooser.in.RetainedOnly.None() && score.IndependentOfSelection(by) &&
		p.chooser.firstPass().columns[prioritizer].Lost == 0 {
		return p.chooser.firstPass().columns[prioritizer]
	}
	return score.Compute(in, by, room)
}

// equalSets reports whether two sets have the same members.
func equalSets(a, b *bitset.BitSet) bool { return a == b || a.SymmetricDifferenceCardinality(b) == 0 }
