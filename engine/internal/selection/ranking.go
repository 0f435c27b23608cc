package selection

import (
	"slices"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/internal/score"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/verdict"
)

// Ranking has every candidate with its total score, and the chosen clusters.
type Ranking struct {
	// Columns has the scores of each prioritizer, in the order of the program.
	Columns []score.Column
	// Candidates and Totals are parallel.
	Candidates []fleet.ID
	Totals     []int64
	// Chosen has the selected clusters by name. Held clusters may be no candidates.
	Chosen []fleet.ID
	// Cut is the total of the chosen candidate that ranks last; meaningless without one.
	Cut int64
	// Ledger is to be stored with the placement. Releasing has the clusters that the budget has paid for.
	Ledger ledger.Ledger

	chooser  *chooser
	budgeted budgeted
	chosen   *bitset.BitSet
	// retained are the chosen clusters that would not be chosen without the grace after a start.
	retained *bitset.BitSet
	// waiting are the candidates of earlier tiers that must not displace a chosen cluster yet.
	waiting *bitset.BitSet
	// finalCounts has the counts of all chosen clusters, for the candidates of the next run; nil without terms.
	finalCounts *domainCounts
	// last is the position of the chosen candidate that ranks last, or -1.
	last int
	// nextRun is the pass in which the chosen clusters are the incumbents; nil if decisions have no scores.
	nextRun *pass
}

func newRanking(c *chooser, within budgeted) *Ranking {
	first := c.firstPass()
	out := &Ranking{
		Columns: first.columns, Candidates: c.in.Candidates, Totals: first.order.totals,
		Chosen: c.in.Snapshot.ByName(within.chosen), chooser: c, budgeted: within, chosen: within.chosen, last: -1,
	}
	next := c.nextPass(within.chosen)
	out.waiting = next.unstable(true)
	out.Ledger = ledger.Ledger{
		Removals: within.spent, Releasing: within.releasing, Held: within.heldByName(c.in.Snapshot), Waiting: next.waiting(),
	}
	for i := range c.in.Positions(within.chosen.EachSet()) {
		if c.eligible(i) && (out.last < 0 || first.order.compare(i, out.last) > 0) {
			out.last, out.Cut = i, out.Totals[i]
		}
	}
	if c.tree != nil {
		out.finalCounts = newDomainCounts(c.tree, next.absent)
		for _, id := range out.Chosen {
			out.finalCounts.add(id)
		}
	}
	if c.program.ByScore {
		out.nextRun = c.passFor(within.chosen)
	}
	return out
}

// Has reports whether a cluster was chosen.
func (r *Ranking) Has(id fleet.ID) bool { return r.chosen.Test(id) }

// IsCandidate reports whether a cluster is a candidate.
func (r *Ranking) IsCandidate(id fleet.ID) bool {
	_, candidate := r.chooser.positionOf(id)
	return candidate
}

// Held returns until when the disruption policy holds a chosen cluster; zero for never. Ok is false if it is not held.
func (r *Ranking) Held(id fleet.ID) (until time.Time, ok bool) {
	until, ok = r.budgeted.until[id]
	return until, ok
}

// Braked reports whether a brake keeps a chosen cluster.
func (r *Ranking) Braked(id fleet.ID) bool { return r.chosen.Test(id) && r.chooser.braked.Test(id) }

// Retained returns the clusters that were chosen only because of the grace after a start. They are read-only.
func (r *Ranking) Retained() *bitset.BitSet { return r.retained }

// BrakedClusters returns the chosen clusters that a brake keeps, by name.
func (r *Ranking) BrakedClusters() []fleet.ID {
	if r.chooser.braked.None() {
		return nil
	}
	return r.chooser.in.Snapshot.ByName(r.chosen.Intersection(r.chooser.braked))
}

// HeldClusters returns the clusters that the disruption policy holds, by name.
func (r *Ranking) HeldClusters() []fleet.ID {
	held := &bitset.BitSet{}
	for _, id := range r.budgeted.held {
		held.Set(id)
	}
	return r.chooser.in.Snapshot.ByName(held)
}

// RecheckAt returns the first instant at which the choice may change by itself: a held cluster is released, or a cluster has
// waited long enough. It is zero for never.
func (r *Ranking) RecheckAt() time.Time {
	var out time.Time
	note := func(at time.Time) {
		if at.After(r.chooser.in.Snapshot.Now) && (out.IsZero() || at.Before(out)) {
			out = at
		}
	}
	for _, at := range r.budgeted.until {
		note(at)
	}
	for _, since := range r.Ledger.Waiting {
		note(since.Add(r.chooser.program.Stabilization))
	}
	return out
}

// Score returns the total of a chosen cluster as the next run finds it, which readers see. It is 0 if decisions have no scores,
// and for clusters that are no candidates.
func (r *Ranking) Score(id fleet.ID) int64 {
	i, candidate := r.chooser.positionOf(id)
	if r.nextRun == nil || !candidate {
		return 0
	}
	return r.nextRun.order.totals[i]
}

// Rejection returns the verdict on a candidate that was not chosen. A candidate that was retained only as an incumbent is
// Outranked, since it is no candidate of the next run. The rank is left out: it takes a pass over all candidates.
func (r *Ranking) Rejection(id fleet.ID) verdict.Verdict {
	i, _ := r.chooser.positionOf(id)
	switch {
	case r.chooser.in.RetainedOnly.Test(id):
		return verdict.Verdict{Code: verdict.Outranked}
	case r.waiting.Test(id):
		return verdict.Verdict{Code: verdict.Waiting, Argument: verdict.Wait{Until: r.chooser.qualifiesAt(i)}}
	}
	ahead := len(r.Chosen) < r.chooser.wanted || r.last >= 0 && r.chooser.firstPass().order.compare(i, r.last) < 0
	if r.finalCounts != nil && (ahead || !r.chooser.eligible(i)) {
		if _, argument, blocked := r.finalCounts.blockingTerm(r.chooser.in.Snapshot, id, true); blocked {
			return verdict.Verdict{Code: verdict.ConstraintBlocked, Argument: argument}
		}
	}
	return verdict.Verdict{Code: verdict.Outranked}
}

// Ineligible reports whether a candidate lacks a required label or claim.
func (r *Ranking) Ineligible(id fleet.ID) bool {
	i, candidate := r.chooser.positionOf(id)
	return candidate && !r.chooser.eligible(i)
}

// Rank returns the rank of a candidate by score. It compares every candidate.
func (r *Ranking) Rank(id fleet.ID) verdict.Rank {
	i, _ := r.chooser.positionOf(id)
	order := &r.chooser.firstPass().order
	position := 1
	for j := range r.Candidates {
		if order.compare(j, i) < 0 {
			position++
		}
	}
	return verdict.Rank{Position: position, Score: r.Totals[i], Cut: r.Cut, Penalized: order.isPenalized(i)}
}

// Order returns every candidate by rank.
func (r *Ranking) Order() []fleet.ID {
	positions := make([]int, len(r.Candidates))
	for i := range positions {
		positions[i] = i
	}
	slices.SortFunc(positions, r.chooser.firstPass().order.compare)
	out := make([]fleet.ID, 0, len(positions))
	for _, i := range positions {
		out = append(out, r.Candidates[i])
	}
	return out
}

// Last returns the chosen candidate that ranks last. Ok is false if no candidate is chosen.
func (r *Ranking) Last() (id fleet.ID, ok bool) {
	if r.last < 0 {
		return 0, false
	}
	return r.Candidates[r.last], true
}

// BlockingTerm is a term with the number of candidates that it blocks.
type BlockingTerm struct {
	Term     verdict.Term
	Clusters int
}

// BlockingTerms returns the terms that block candidates: anti-affinity and the hard constraints, in their order. Each candidate
// counts once, for its first term. Waiting clusters do not count, nor do incumbents that are no candidates of the next run.
func (r *Ranking) BlockingTerms() []BlockingTerm {
	if r.finalCounts == nil {
		return nil
	}
	counts := make([]int, len(r.chooser.program.AntiAffinity)+len(r.chooser.program.Spread))
	for _, id := range r.Candidates {
		if r.chosen.Test(id) || r.waiting.Test(id) || r.chooser.in.RetainedOnly.Test(id) {
			continue
		}
		if term, _, blocked := r.finalCounts.blockingTerm(r.chooser.in.Snapshot, id, false); blocked {
			counts[term]++
		}
	}
	var out []BlockingTerm
	for term, count := range counts {
		if count > 0 {
			out = append(out, BlockingTerm{r.finalCounts.tree.termOf(term), count})
		}
	}
	return slices.Clip(out)
}
