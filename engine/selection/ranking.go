package selection

import (
	"slices"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/score"
	"github.com/berth-project/berth/engine/verdict"
)

// Ranking is every candidate with its total score as the run found them, and who was chosen.
type Ranking struct {
	// Columns hold what each prioritizer gave, in the program's order.
	Columns []score.Column
	// Candidates and Totals are parallel.
	Candidates []fleet.ID
	Totals     []int64
	// Chosen lists the selected clusters by name. Those that are held may be no candidates.
	Chosen []fleet.ID
	// Cut is the total of the last candidate chosen, by the order of scores; it means nothing where nobody was.
	Cut int64
	// Ledger is what the placement is to remember, but for the spec. Releasing is everybody who leaves paid.
	Ledger ledger.Ledger

	chooser   *chooser
	throttled throttled
	chosen    *bitset.BitSet
	// waiting are the candidates of earlier tiers that must not displace any of the chosen yet.
	waiting *bitset.BitSet
	// finalCounts is who is where once all are chosen, as the next run sees it; nil where nothing divides the candidates.
	finalCounts *domainCounts
	// last is the position of the last candidate chosen, or -1.
	last int
	// nextRun is the round in which the chosen are the incumbents; nil where no scores are shown.
	nextRun *pass
}

func newRanking(r *chooser, p throttled) *Ranking {
	first := r.firstPass()
	out := &Ranking{
		Columns: first.columns, Candidates: r.Candidates, Totals: first.order.totals,
		Chosen: r.Snapshot.ByName(p.chosen), chooser: r, throttled: p, chosen: p.chosen, last: -1,
	}
	next := r.nextPass(p.chosen)
	out.waiting = next.unstable(true)
	out.Ledger = ledger.Ledger{Removals: p.spent, Releasing: p.releasing, Held: p.heldByName(r.Snapshot), Waiting: next.waiting()}
	for i := range r.Positions(p.chosen.EachSet()) {
		if r.eligible(i) && (out.last < 0 || first.order.compare(i, out.last) > 0) {
			out.last, out.Cut = i, out.Totals[i]
		}
	}
	if r.tree != nil {
		out.finalCounts = newDomainCounts(r.tree, next.absent)
		for _, id := range out.Chosen {
			out.finalCounts.add(id)
		}
	}
	if r.program.ByScore {
		out.nextRun = r.passFor(p.chosen)
	}
	return out
}

// Has says whether a cluster was chosen.
func (r *Ranking) Has(id fleet.ID) bool { return r.chosen.Test(id) }

// IsCandidate says whether a cluster is a candidate.
func (r *Ranking) IsCandidate(id fleet.ID) bool {
	_, candidate := r.chooser.positionOf(id)
	return candidate
}

// Held says whether a chosen cluster is held by the disruption policy, and until when; zero for never.
func (r *Ranking) Held(id fleet.ID) (until time.Time, ok bool) {
	until, ok = r.throttled.until[id]
	return until, ok
}

// HeldClusters returns the clusters that the disruption policy holds, by name.
func (r *Ranking) HeldClusters() []fleet.ID {
	held := &bitset.BitSet{}
	for _, id := range r.throttled.held {
		held.Set(id)
	}
	return r.chooser.Snapshot.ByName(held)
}

// RecheckAt returns the first instant at which the choice may change by itself: one is let go, or has waited for long
// enough. It is zero where there is none.
func (r *Ranking) RecheckAt() time.Time {
	var out time.Time
	note := func(at time.Time) {
		if at.After(r.chooser.Snapshot.Now) && (out.IsZero() || at.Before(out)) {
			out = at
		}
	}
	for _, at := range r.throttled.until {
		note(at)
	}
	for _, since := range r.Ledger.Waiting {
		note(since.Add(r.chooser.program.Stabilization))
	}
	return out
}

// Score returns the total of a chosen cluster, as it is shown: as the next run will find it. It is 0 where no scores are
// shown, and for clusters that are no candidates.
func (r *Ranking) Score(id fleet.ID) int64 {
	i, candidate := r.chooser.positionOf(id)
	if r.nextRun == nil || !candidate {
		return 0
	}
	return r.nextRun.order.totals[i]
}

// Rejection returns the verdict on a candidate that was not chosen. A guest is beaten, whatever else keeps it out: the next run
// does not know it any more. The rank of one that is beaten is left out: it costs a look at all candidates.
func (r *Ranking) Rejection(id fleet.ID) verdict.Verdict {
	i, _ := r.chooser.positionOf(id)
	switch {
	case r.chooser.RetainedOnly.Test(id):
		return verdict.Verdict{Code: verdict.Outranked}
	case r.waiting.Test(id):
		return verdict.Verdict{Code: verdict.Waiting, Argument: verdict.Wait{Until: r.chooser.qualifiesAt(i)}}
	}
	ahead := len(r.Chosen) < r.chooser.wanted || r.last >= 0 && r.chooser.firstPass().order.compare(i, r.last) < 0
	if r.finalCounts != nil && (ahead || !r.chooser.eligible(i)) {
		if _, argument, blocked := r.finalCounts.blockingTerm(r.chooser.Snapshot, id, true); blocked {
			return verdict.Verdict{Code: verdict.ConstraintBlocked, Argument: argument}
		}
	}
	return verdict.Verdict{Code: verdict.Outranked}
}

// Ineligible says whether a candidate lacks a label or claim that clusters are not chosen without.
func (r *Ranking) Ineligible(id fleet.ID) bool {
	i, candidate := r.chooser.positionOf(id)
	return candidate && !r.chooser.eligible(i)
}

// Rank returns where a candidate stands in the order of scores. It looks at every candidate.
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

// Order returns every candidate in the order of scores.
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

// Last returns the candidate that was chosen last, by the order of scores. Ok is false where none was.
func (r *Ranking) Last() (id fleet.ID, ok bool) {
	if r.last < 0 {
		return 0, false
	}
	return r.Candidates[r.last], true
}

// BlockingTerm is a term that keeps candidates out, and how many.
type BlockingTerm struct {
	// Constraint is as in a verdict.Constraint.
	Constraint string
	Clusters   int
}

// BlockingTerms returns what keeps candidates out that are not chosen: anti-affinity and the hard constraints, in their order.
// Each candidate counts once, for the first that does. Guests do not count, since they are candidates no more, and neither
// do those that wait.
func (r *Ranking) BlockingTerms() []BlockingTerm {
	if r.finalCounts == nil {
		return nil
	}
	counts := make([]int, len(r.chooser.program.AntiAffinity)+len(r.chooser.program.Spread))
	for _, id := range r.Candidates {
		if r.chosen.Test(id) || r.waiting.Test(id) || r.chooser.RetainedOnly.Test(id) {
			continue
		}
		if term, _, blocked := r.finalCounts.blockingTerm(r.chooser.Snapshot, id, false); blocked {
			counts[term]++
		}
	}
	var out []BlockingTerm
	for term, count := range counts {
		if count > 0 {
			out = append(out, BlockingTerm{r.finalCounts.tree.termText(term), count})
		}
	}
	return slices.Clip(out)
}
