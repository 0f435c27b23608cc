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
	if !p.chooser.waitsForFailback() || !sameSpec {
		return p.chooser.in.Snapshot.EmptySet()
	}
	out := &bitset.BitSet{}
	for _, i := range p.recovered() {
		if p.chooser.in.Snapshot.Now.Before(p.chooser.qualifiesAt(i)) {
			out.Set(p.chooser.in.Candidates[i])
		}
	}
	return out
}

// qualifiesAt returns when the candidate at a position may displace others, if it qualifies until then.
func (c *chooser) qualifiesAt(position int) time.Time {
	since := ledger.Since(c.in.Past.Waiting, c.in.Snapshot.Name(c.in.Candidates[position]), c.in.Snapshot.Now)
	return since.Add(c.program.Stabilization)
}

// recovered returns the positions of the candidates that are not incumbents of the pass and are in an earlier tier than one of
// them.
func (p *pass) recovered() []int {
	latest := 0
	var out []int
	for i, id := range p.chooser.in.Candidates {
		if p.isAbsent(i) || !p.chooser.eligible(i) {
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
	if !p.chooser.waitsForFailback() {
		return nil
	}
	positions := p.recovered()
	slices.SortFunc(positions, p.chooser.firstPass().order.compare)
	out := map[string]time.Time{}
	for _, i := range positions[:min(maxWaiting, len(positions))] {
		name := p.chooser.in.Snapshot.Name(p.chooser.in.Candidates[i])
		out[name] = ledger.Since(p.chooser.in.Past.Waiting, name, p.chooser.in.Snapshot.Now)
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
	if p.chooser.in.Tier == nil {
		return nil
	}
	out := make([]int, len(p.chooser.in.Candidates))
	for i, id := range p.chooser.in.Candidates {
		out[i] = p.chooser.in.Tier(id, p.incumbents.Test(id))
	}
	return out
}
