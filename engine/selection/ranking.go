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

	race   *race
	pace   pace
	chosen *bitset.BitSet
	// waits are the candidates of earlier tiers that must not displace any of the chosen yet.
	waits *bitset.BitSet
	// end is who is where once all are chosen, as the next run sees it; nil where nothing divides the candidates.
	end *tally
	// last is the position of the last candidate chosen, or -1.
	last int
	// shown is the round in which the chosen are the incumbents; nil where no scores are shown.
	shown *round
}

func newRanking(r *race, p pace) *Ranking {
	first := r.first()
	out := &Ranking{
		Columns: first.columns, Candidates: r.Candidates, Totals: first.order.totals,
		Chosen: r.Snapshot.ByName(p.chosen), race: r, pace: p, chosen: p.chosen, last: -1,
	}
	next := r.view(p.chosen)
	out.waits = next.unstable(true)
	out.Ledger = ledger.Ledger{Spent: p.spent, Releasing: p.releasing, Held: p.memo(r.Snapshot), Waiting: next.waiting()}
	for i := range r.Positions(p.chosen.EachSet()) {
		if r.eligible(i) && (out.last < 0 || first.order.compare(i, out.last) > 0) {
			out.last, out.Cut = i, out.Totals[i]
		}
	}
	if r.tree != nil {
		out.end = newTally(r.tree, next.missing)
		for _, id := range out.Chosen {
			out.end.add(id)
		}
	}
	if r.program.ByScore {
		out.shown = r.round(p.chosen)
	}
	return out
}

// Has says whether a cluster was chosen.
func (r *Ranking) Has(id fleet.ID) bool { return r.chosen.Test(id) }

// Ranks says whether a cluster is a candidate.
func (r *Ranking) Ranks(id fleet.ID) bool {
	_, candidate := r.race.among(id)
	return candidate
}

// Held says whether a chosen cluster is held by the disruption policy, and until when; zero for never.
func (r *Ranking) Held(id fleet.ID) (until time.Time, ok bool) {
	until, ok = r.pace.until[id]
	return until, ok
}

// Holds returns the clusters that the disruption policy holds, by name.
func (r *Ranking) Holds() []fleet.ID {
	held := &bitset.BitSet{}
	for _, id := range r.pace.held {
		held.Set(id)
	}
	return r.race.Snapshot.ByName(held)
}

// LookAgain returns the first instant at which the choice may change by itself: one is let go, or has waited for long
// enough. It is zero where there is none.
func (r *Ranking) LookAgain() time.Time {
	var out time.Time
	note := func(at time.Time) {
		if at.After(r.race.Snapshot.Now) && (out.IsZero() || at.Before(out)) {
			out = at
		}
	}
	for _, at := range r.pace.until {
		note(at)
	}
	for _, since := range r.Ledger.Waiting {
		note(since.Add(r.race.program.Stabilization))
	}
	return out
}

// Score returns the total of a chosen cluster, as it is shown: as the next run will find it. It is 0 where no scores are
// shown, and for clusters that are no candidates.
func (r *Ranking) Score(id fleet.ID) int64 {
	i, candidate := r.race.among(id)
	if r.shown == nil || !candidate {
		return 0
	}
	return r.shown.order.totals[i]
}

// Loss returns the verdict on a candidate that was not chosen. A guest is beaten, whatever else keeps it out: the next run
// does not know it any more. The rank of one that is beaten is left out: it costs a look at all candidates.
func (r *Ranking) Loss(id fleet.ID) verdict.Verdict {
	i, _ := r.race.among(id)
	switch {
	case r.race.Guests.Test(id):
		return verdict.Verdict{Code: verdict.Beaten}
	case r.waits.Test(id):
		return verdict.Verdict{Code: verdict.Waiting, Argument: verdict.Wait{Until: r.race.qualifies(i)}}
	}
	ahead := len(r.Chosen) < r.race.seats || r.last >= 0 && r.race.first().order.compare(i, r.last) < 0
	if r.end != nil && (ahead || !r.race.eligible(i)) {
		if _, argument, blocked := r.end.block(r.race.Snapshot, id, true); blocked {
			return verdict.Verdict{Code: verdict.Capped, Argument: argument}
		}
	}
	return verdict.Verdict{Code: verdict.Beaten}
}

// Barred says whether a candidate lacks a label or claim that clusters are not chosen without.
func (r *Ranking) Barred(id fleet.ID) bool {
	i, candidate := r.race.among(id)
	return candidate && !r.race.eligible(i)
}

// Rank returns where a candidate stands in the order of scores. It looks at every candidate.
func (r *Ranking) Rank(id fleet.ID) verdict.Rank {
	i, _ := r.race.among(id)
	order := &r.race.first().order
	position := 1
	for j := range r.Candidates {
		if order.compare(j, i) < 0 {
			position++
		}
	}
	return verdict.Rank{Position: position, Score: r.Totals[i], Cut: r.Cut, Demoted: order.isDemoted(i)}
}

// Order returns every candidate in the order of scores.
func (r *Ranking) Order() []fleet.ID {
	positions := make([]int, len(r.Candidates))
	for i := range positions {
		positions[i] = i
	}
	slices.SortFunc(positions, r.race.first().order.compare)
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

// Block is a term that keeps candidates out, and how many.
type Block struct {
	// Constraint is as in a verdict.Cap.
	Constraint string
	Clusters   int
}

// Blocks returns what keeps candidates out that are not chosen: anti-affinity and the hard constraints, in their order.
// Each candidate counts once, for the first that does. Guests do not count, since they are candidates no more, and neither
// do those that wait.
func (r *Ranking) Blocks() []Block {
	if r.end == nil {
		return nil
	}
	counts := make([]int, len(r.race.program.AntiAffinity)+len(r.race.program.Spread))
	for _, id := range r.Candidates {
		if r.chosen.Test(id) || r.waits.Test(id) || r.race.Guests.Test(id) {
			continue
		}
		if term, _, blocked := r.end.block(r.race.Snapshot, id, false); blocked {
			counts[term]++
		}
	}
	var out []Block
	for term, count := range counts {
		if count > 0 {
			out = append(out, Block{r.end.tree.term(term), count})
		}
	}
	return slices.Clip(out)
}
