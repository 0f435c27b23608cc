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
	matched   filter.Matched
	tiered    filter.Tiered
	tolerated filter.Tolerated
	// grouped are the scores that the expressions of groups asked for.
	grouped filter.Asked
	kept    *bitset.BitSet
}

// Verdict returns the answer for one cluster of the snapshot; the zero Verdict for an ID that no cluster of it has.
func (t *Trace) Verdict(id fleet.ID) verdict.Verdict {
	out := t.Unranked(id)
	if out.Code == verdict.Beaten {
		out.Argument = t.Ranking.Rank(id)
	}
	return out
}

// Unranked is Verdict without the rank of a cluster that was beaten, which costs a look at all candidates.
func (t *Trace) Unranked(id fleet.ID) verdict.Verdict {
	switch {
	case t.Snapshot.Cluster(id) == nil:
		return verdict.Verdict{}
	case t.Ranking == nil && !t.scope.candidates.Test(id):
		return t.scope.why(t.Snapshot.Cluster(id))
	case t.Ranking == nil:
		return t.undecided(id)
	case t.Ranking.Has(id):
		return t.selected(id)
	}
	if fell, ok := t.filtered(id); ok {
		return fell
	}
	return t.Ranking.Loss(id)
}

// filtered returns the verdict on a cluster that a filter dropped, or that was out of reach before. Ok is false where
// none did.
func (t *Trace) filtered(id fleet.ID) (fell verdict.Verdict, ok bool) {
	switch cluster := t.Snapshot.Cluster(id); {
	case !t.scope.candidates.Test(id):
		return t.scope.why(cluster), true
	case !t.matched.In.Test(id):
		return t.matched.Why(cluster, id), true
	case t.tiered.Fell.Test(id):
		return verdict.Verdict{Code: verdict.OutsideTiers}, true
	case t.tolerated.Fell.Test(id):
		return t.tolerated.Why(id), true
	default:
		return verdict.Verdict{}, false
	}
}

// selected returns the verdict on a cluster that is selected: in doubt, held by the disruption policy, or both.
func (t *Trace) selected(id fleet.ID) verdict.Verdict {
	var hold verdict.Hold
	hold.Problem = t.doubt(id)
	if until, held := t.Ranking.Held(id); held {
		hold.Fell, hold.Until = t.loss(id), until
	}
	if hold == (verdict.Hold{}) {
		return verdict.Verdict{Code: verdict.Selected}
	}
	return verdict.Verdict{Code: verdict.Held, Argument: hold}
}

// doubt says why nobody can tell whether a selected cluster qualifies; empty where somebody can.
func (t *Trace) doubt(id fleet.ID) string {
	if problem, held := t.matched.Held[id]; held {
		return problem
	}
	if t.scope.held.Test(id) {
		return t.scope.fault()
	}
	return t.tiered.Held[id]
}

// loss returns the verdict that a held cluster would have.
func (t *Trace) loss(id fleet.ID) verdict.Code {
	if fell, ok := t.filtered(id); ok {
		return fell.Code
	}
	if t.Ranking.Barred(id) {
		return verdict.Capped
	}
	return verdict.Beaten
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
	if tier, ok := t.tiered.Of(id, t.Ranking.Has(id)); ok && tier < len(t.Program.Tiers) {
		return t.Program.Tiers[tier].Name
	}
	return ""
}

// Reluctant says whether a cluster passed the filters with a PreferNoSelect taint that is not tolerated.
func (t *Trace) Reluctant(id fleet.ID) bool {
	return t.tolerated.Demoted != nil && t.tolerated.Demoted.Test(id)
}

func (t *Trace) undecided(id fleet.ID) verdict.Verdict {
	if t.kept.Test(id) {
		return verdict.Verdict{Code: verdict.Kept}
	}
	return verdict.Verdict{Code: verdict.Undecided}
}

// Tally counts the verdicts on every cluster of the snapshot.
func (t *Trace) Tally() map[verdict.Code]int {
	out := map[verdict.Code]int{}
	for id := range t.Snapshot.Clusters() {
		out[t.Unranked(id).Code]++
	}
	return out
}
