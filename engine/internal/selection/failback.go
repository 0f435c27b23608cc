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
func (c *chooser) waitsForFailback() bool {
	return c.program.Stabilization > 0 && len(c.program.Tiers) > 0
}

// unstable returns the clusters of earlier tiers that must not displace an incumbent yet. A change of the spec takes
// effect at once, so the result is empty after it.
func (p *pass) unstable(sameSpec bool) *bitset.BitSet {
	if !p.waitsForFailback() || !sameSpec {
		return p.Snapshot.EmptySet()
	}
	out := &bitset.BitSet{}
	for _, i := range p.recovered() {
		if p.Snapshot.Now.Before(p.qualifiesAt(i)) {
			out.Set(p.Candidates[i])
		}
	}
	return out
}

// qualifiesAt returns when the candidate at a position may displace others, if it qualifies until then.
func (c *chooser) qualifiesAt(position int) time.Time {
	since := ledger.Since(c.Past.Waiting, c.Snapshot.Name(c.Candidates[position]), c.Snapshot.Now)
	return since.Add(c.program.Stabilization)
}

// recovered returns the positions of the candidates that are not incumbents of the pass and are in an earlier tier than one of
// them.
func (p *pass) recovered() []int {
	latest := 0
	var out []int
	for i, id := range p.Candidates {
		if p.isAbsent(i) || !p.eligible(i) {
			continue
		}
		if p.incumbents.Test(id) {
			latest = max(latest, p.order.tiers[i])
		} else {
			out = append(out, i)
		}
	}
	return slices.DeleteFunc(out, func(i int) bool { return p.order.tiers[i] >= latest })
}

// waiting returns the waiting clusters to store, with the instant since which each waits, if the chosen become the incumbents.
// It keeps the best ranked.
func (p *pass) waiting() map[string]time.Time {
	if !p.waitsForFailback() {
		return nil
	}
	positions := p.recovered()
	slices.SortFunc(positions, p.firstPass().order.compare)
	out := map[string]time.Time{}
	for _, i := range positions[:min(maxWaiting, len(positions))] {
		name := p.Snapshot.Name(p.Candidates[i])
		out[name] = ledger.Since(p.Past.Waiting, name, p.Snapshot.Now)
	}
	return out
}

// nextPass returns the pass of the next run, without scores.
func (c *chooser) nextPass(chosen *bitset.BitSet) *pass {
	out := &pass{chooser: c, incumbents: chosen, absent: c.absentGuests(chosen)}
	out.order.tiers = out.tiers()
	return out
}

// tiers returns the tier of each candidate; nil without tiers.
func (p *pass) tiers() []int {
	if p.Tier == nil {
		return nil
	}
	out := make([]int, len(p.Candidates))
	for i, id := range p.Candidates {
		out[i] = p.Tier(id, p.incumbents.Test(id))
	}
	return out
}
