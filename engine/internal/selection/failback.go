package selection

import (
	"slices"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/ledger"
)

// maxWaiting is how many waiting clusters of earlier tiers the ledger keeps.
const maxWaiting = 1000

// waitsForFailback reports whether clusters of earlier tiers have to qualify for a while before they displace others.
func (r *chooser) waitsForFailback() bool {
	return r.program.Stabilization > 0 && len(r.program.Tiers) > 0
}

// unstable returns the clusters of earlier tiers that must not displace an incumbent yet. A change of the spec takes
// effect at once, so the result is empty after it.
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

// qualifiesAt returns when the candidate at a position may displace others, if it qualifies until then.
func (r *chooser) qualifiesAt(position int) time.Time {
	since := ledger.Since(r.Past.Waiting, r.Snapshot.Name(r.Candidates[position]), r.Snapshot.Now)
	return since.Add(r.program.Stabilization)
}

// recovered returns the positions of the candidates that are not incumbents of the pass and are in an earlier tier than one of
// them.
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

// waiting returns the waiting clusters to store, with the instant since which each waits, if the chosen become the incumbents.
// It keeps the best ranked.
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

// nextPass returns the pass of the next run, without scores.
func (r *chooser) nextPass(chosen *bitset.BitSet) *pass {
	out := &pass{chooser: r, incumbents: chosen, absent: r.absentGuests(chosen)}
	out.order.tiers = out.tiers()
	return out
}

// tiers returns the tier of each candidate; nil without tiers.
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
