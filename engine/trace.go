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
	tolerated filter.Tolerated
	kept      *bitset.BitSet
}

// Verdict returns the answer for one cluster of the snapshot.
func (t *Trace) Verdict(id fleet.ID) verdict.Verdict {
	out := t.unranked(id)
	if out.Code == verdict.Beaten {
		out.Argument = t.Ranking.Rank(id)
	}
	return out
}

// unranked is Verdict without the rank of a cluster that was beaten, which costs a look at all candidates.
func (t *Trace) unranked(id fleet.ID) verdict.Verdict {
	cluster := t.Snapshot.Cluster(id)
	switch {
	case !t.scope.candidates.Test(id):
		return t.scope.why(cluster)
	case t.Ranking == nil:
		return t.undecided(id)
	case !t.matched.In.Test(id):
		return t.matched.Why(cluster, id)
	}
	if fell, ok := t.tolerated.Fell[id]; ok {
		return fell
	}
	if t.Ranking.Beaten(id) {
		return verdict.Verdict{Code: verdict.Beaten}
	}
	if problem, held := t.matched.Held[id]; held {
		return verdict.Verdict{Code: verdict.Held, Argument: verdict.Hold{Problem: problem}}
	}
	if t.scope.held.Test(id) {
		return verdict.Verdict{Code: verdict.Held, Argument: verdict.Hold{Problem: t.scope.fault()}}
	}
	return verdict.Verdict{Code: verdict.Selected}
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
		out[t.unranked(id).Code]++
	}
	return out
}
