package engine

import (
	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/filter"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/selection"
	"github.com/berth-project/berth/engine/verdict"
)

// Trace is how a run came to its result. It holds the very snapshot and program that were run, so that every answer
// drawn from it is about that run and no other.
type Trace struct {
	Snapshot *fleet.Snapshot
	// Program and Ranking are nil where nothing was decided.
	Program *program.Program
	Ranking *selection.Ranking

	scope     scope
	matched   filter.PredicateResult
	tiered    filter.TierResult
	tolerated filter.TaintResult
	// grouped are the scores that the expressions of groups asked for.
	grouped filter.ScoreReads
	kept    *bitset.BitSet
}

// Verdict returns the answer for one cluster of the snapshot; the zero Verdict for an ID that no cluster of it has.
func (t *Trace) Verdict(id fleet.ID) verdict.Verdict {
	out := t.VerdictWithoutRank(id)
	if out.Code == verdict.Outranked {
		out.Argument = t.Ranking.Rank(id)
	}
	return out
}

// VerdictWithoutRank is Verdict without the rank of a cluster that was beaten, which costs a look at all candidates.
func (t *Trace) VerdictWithoutRank(id fleet.ID) verdict.Verdict {
	switch {
	case t.Snapshot.Cluster(id) == nil:
		return verdict.Verdict{}
	case t.Ranking == nil && !t.scope.candidates.Test(id):
		return t.scope.verdict(t.Snapshot.Cluster(id))
	case t.Ranking == nil:
		return t.undecided(id)
	case t.Ranking.Has(id):
		return t.selected(id)
	}
	if fell, ok := t.filtered(id); ok {
		return fell
	}
	return t.Ranking.Rejection(id)
}

// filtered returns the verdict on a cluster that a filter dropped, or that was out of reach before. Ok is false where
// none did.
func (t *Trace) filtered(id fleet.ID) (fell verdict.Verdict, ok bool) {
	switch cluster := t.Snapshot.Cluster(id); {
	case !t.scope.candidates.Test(id):
		return t.scope.verdict(cluster), true
	case !t.matched.In.Test(id):
		return t.matched.Verdict(cluster, id), true
	case t.tiered.Rejected.Test(id):
		return verdict.Verdict{Code: verdict.OutsideTiers}, true
	case t.tolerated.Rejected.Test(id):
		return t.tolerated.Verdict(id), true
	default:
		return verdict.Verdict{}, false
	}
}

// selected returns the verdict on a cluster that is selected: in doubt, held by the disruption policy, or both.
func (t *Trace) selected(id fleet.ID) verdict.Verdict {
	var hold verdict.Hold
	hold.Problem = t.uncertainty(id)
	if until, held := t.Ranking.Held(id); held {
		hold.Underlying, hold.Until = t.underlying(id), until
	}
	if hold == (verdict.Hold{}) {
		return verdict.Verdict{Code: verdict.Selected}
	}
	return verdict.Verdict{Code: verdict.Held, Argument: hold}
}

// uncertainty says why nobody can tell whether a selected cluster qualifies; empty where somebody can.
func (t *Trace) uncertainty(id fleet.ID) string {
	if problem, held := t.matched.Held[id]; held {
		return problem
	}
	if t.scope.held.Test(id) {
		return t.scope.problem()
	}
	return t.tiered.Held[id]
}

// underlying returns the verdict that a held cluster would have.
func (t *Trace) underlying(id fleet.ID) verdict.Code {
	if fell, ok := t.filtered(id); ok {
		return fell.Code
	}
	if t.Ranking.Ineligible(id) {
		return verdict.ConstraintBlocked
	}
	return verdict.Outranked
}

// Sets returns the sets that the placement may choose from and that have a cluster, by name.
func (t *Trace) Sets(id fleet.ID) []string {
	var out []string
	for _, name := range t.scope.eligible {
		if set, ok := t.Snapshot.Set(name); ok && set.Has(t.Snapshot.Cluster(id)) {
			out = append(out, name)
		}
	}
	return out
}

// Tier returns the name of the tier that a cluster is in, as a newcomer or as it is selected; empty where it is in none,
// or a filter dropped it before.
func (t *Trace) Tier(id fleet.ID) string {
	if t.Ranking == nil || !t.matched.In.Test(id) {
		return ""
	}
	if tier, ok := t.tiered.TierOf(id, t.Ranking.Has(id)); ok && tier < len(t.Program.Tiers) {
		return t.Program.Tiers[tier].Name
	}
	return ""
}

// Penalized says whether a cluster passed the filters with a PreferNoSelect taint that is not tolerated.
func (t *Trace) Penalized(id fleet.ID) bool {
	return t.tolerated.Penalized != nil && t.tolerated.Penalized.Test(id)
}

func (t *Trace) undecided(id fleet.ID) verdict.Verdict {
	if t.kept.Test(id) {
		return verdict.Verdict{Code: verdict.Kept}
	}
	return verdict.Verdict{Code: verdict.Undecided}
}

// CountVerdicts counts the verdicts on every cluster of the snapshot.
func (t *Trace) CountVerdicts() map[verdict.Code]int {
	out := map[verdict.Code]int{}
	for id := range t.Snapshot.Clusters() {
		out[t.VerdictWithoutRank(id).Code]++
	}
	return out
}
