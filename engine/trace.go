package engine

import (
	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/internal/filter"
	"github.com/berth-project/berth/engine/internal/selection"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/verdict"
)

// Trace is how a run came to its result. It has the snapshot and the program of the run, so all its answers are about that run.
type Trace struct {
	Snapshot *fleet.Snapshot
	// Program and Ranking are nil if nothing was decided.
	Program *program.Program
	Ranking *selection.Ranking

	scope     scope
	hold      filter.MissingHold
	matched   filter.PredicateResult
	tiered    filter.TierResult
	tolerated filter.TaintResult
	// grouped are the scores that the expressions of groups read.
	grouped filter.ScoreReads
	// standing are the incumbents with a label or claim that is being withdrawn and that qualify without it.
	standing *bitset.BitSet
	// retained are the incumbents that stay because the manager started a short time ago.
	retained *bitset.BitSet
	// inGroups are the clusters that stay in their groups for the same reason, by name.
	inGroups []string
	kept     *bitset.BitSet
}

// Verdict returns the verdict on one cluster of the snapshot; the zero Verdict for an unknown ID.
func (t *Trace) Verdict(id fleet.ID) verdict.Verdict {
	out := t.VerdictWithoutRank(id)
	if out.Code == verdict.Outranked {
		out.Argument = t.Ranking.Rank(id)
	}
	return out
}

// VerdictWithoutRank is Verdict without the rank of an outranked cluster, which takes a pass over all candidates.
func (t *Trace) VerdictWithoutRank(id fleet.ID) verdict.Verdict {
	switch {
	case t.Snapshot.Cluster(id) == nil:
		return verdict.Verdict{}
	case t.Ranking == nil && !t.scope.candidates.Test(id):
		return t.scope.verdict(id, t.Snapshot.Cluster(id))
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

// filtered returns the verdict on a cluster that a filter rejected or that is not in the scope. Ok is false for other clusters.
func (t *Trace) filtered(id fleet.ID) (fell verdict.Verdict, ok bool) {
	switch cluster := t.Snapshot.Cluster(id); {
	case !t.scope.candidates.Test(id):
		return t.scope.verdict(id, cluster), true
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

// selected returns the verdict on a selected cluster: it may be held by the disruption policy, or because it is uncertain
// whether it qualifies.
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

// uncertainty returns why it is unknown whether a selected cluster qualifies; empty if it is known.
func (t *Trace) uncertainty(id fleet.ID) string {
	if problem, held := t.matched.Held[id]; held {
		return problem
	}
	if t.scope.held.Test(id) {
		return t.scope.problem()
	}
	if t.Ranking.Braked(id) {
		return t.hold.Past.Braked[t.Snapshot.Name(id)]
	}
	if t.scope.leaving.Test(id) || t.retained.Test(id) {
		return t.withdrawal(id)
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

// Sets returns the eligible sets that have a cluster, by name.
func (t *Trace) Sets(id fleet.ID) []string {
	var out []string
	for _, name := range t.scope.eligible {
		if set, ok := t.Snapshot.Set(name); ok && set.Has(t.Snapshot.Cluster(id)) {
			out = append(out, name)
		}
	}
	return out
}

// Tier returns the name of the tier of a cluster, as a newcomer or as a selected cluster; empty if it is in none or a filter
// rejected it before.
func (t *Trace) Tier(id fleet.ID) string {
	if t.Ranking == nil || !t.matched.In.Test(id) {
		return ""
	}
	if tier, ok := t.tiered.TierOf(id, t.Ranking.Has(id)); ok && tier < len(t.Program.Tiers) {
		return t.Program.Tiers[tier].Name
	}
	return ""
}

// Penalized reports whether a cluster passed the filters with a PreferNoSelect taint that is not tolerated.
func (t *Trace) Penalized(id fleet.ID) bool {
	return t.tolerated.Penalized != nil && t.tolerated.Penalized.Test(id)
}

func (t *Trace) undecided(id fleet.ID) verdict.Verdict {
	if t.kept.Test(id) {
		return verdict.Verdict{Code: verdict.Kept}
	}
	return verdict.Verdict{Code: verdict.Undecided}
}
