package selection

import (
	"slices"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/ledger"
)

// maxWaiting is how many clusters of earlier tiers are remembered that wait to take over.
const maxWaiting = 1000

// waitsForFailback says whether clusters of earlier tiers have to qualify for a while before they displace others.
func (r *chooser) waitsForFailback() bool {
	return r.program.Stabilization > 0 && len(r.program.Tiers) > 0
}

// unstable returns the clusters of earlier tiers that must not displace an incumbent yet. After a change of the spec
// there are none: what the user asks for does not wait.
func (r *pass) unstable(sameSpec bool) *bitset.BitSet {
	if !r.waitsForFailback() || !sameSpec {
		return r.Snapshot.EmptySet()
	}
	out := &bitset.BitSet{}
	for _, i := range r.recovered() {
		if r.Snapshot.Now.Before(r.qualifiesAt(i)) {
			out.Set(r.Candidates[i])
		}
	}
	return out
}

// qualifiesAt returns the instant from which the candidate at a position may take over, if it qualifies until then.
func (r *chooser) qualifiesAt(position int) time.Time {
	since := ledger.Since(r.Past.Waiting, r.Snapshot.Name(r.Candidates[position]), r.Snapshot.Now)
	return since.Add(r.program.Stabilization)
}

// recovered returns the positions of the candidates that are no incumbents of the round and in an earlier tier than one
// of them.
func (r *pass) recovered() []int {
	latest := 0
	var out []int
	for i, id := range r.Candidates {
		if r.isAbsent(i) || !r.eligible(i) {
			continue
		}
		if r.incumbents.Test(id) {
			latest = max(latest, r.order.tiers[i])
		} else {
			out = append(out, i)
		}
	}
	return slices.DeleteFunc(out, func(i int) bool { return r.order.tiers[i] >= latest })
}

// waiting returns the clusters that are to be remembered as waiting where the incumbents of the round are the chosen,
// each with the instant from which it waits: those that rank first.
func (r *pass) waiting() map[string]time.Time {
	if !r.waitsForFailback() {
		return nil
	}
	positions := r.recovered()
	slices.SortFunc(positions, r.firstPass().order.compare)
	out := map[string]time.Time{}
	for _, i := range positions[:min(maxWaiting, len(positions))] {
		name := r.Snapshot.Name(r.Candidates[i])
		out[name] = ledger.Since(r.Past.Waiting, name, r.Snapshot.Now)
	}
	return out
}

// nextPass returns the candidates as the next run sees them, without scores.
func (r *chooser) nextPass(chosen *bitset.BitSet) *pass {
	out := &pass{chooser: r, incumbents: chosen, absent: r.absentGuests(chosen)}
	out.order.tiers = out.tiers()
	return out
}

// tiers returns the tier of each candidate, or nil where there are none.
func (r *pass) tiers() []int {
	if r.Tier == nil {
		return nil
	}
	out := make([]int, len(r.Candidates))
	for i, id := range r.Candidates {
		out[i] = r.Tier(id, r.incumbents.Test(id))
	}
	return out
}
