package selection

import (
	"slices"

	"github.com/bits-and-blooms/bitset"
)

// maxPasses is the most passes of one choice. No test has reached it.
const maxPasses = 16

// stabilize chooses with the given incumbents, then with the chosen clusters as incumbents, until a choice repeats. If choices
// alternate, it takes the one whose names come first, so the result does not depend on the start.
func (c *chooser) stabilize(incumbents *bitset.BitSet, sameSpec bool) *bitset.BitSet {
	seen := []*bitset.BitSet{incumbents}
	for range maxPasses {
		next, final := c.passFor(seen[len(seen)-1]).choose(sameSpec)
		if final {
			return next
		}
		if at := slices.IndexFunc(seen, func(set *bitset.BitSet) bool { return equalSets(set, next) }); at >= 0 {
			return slices.MinFunc(seen[at:], c.byNames)
		}
		seen = append(seen, next)
	}
	return seen[maxPasses]
}

// choose returns the choice of the pass. Final is set if a run that starts from it chooses the same. That holds without spread
// and with at most one anti-affinity term: being chosen only raises a cluster's score, and the best of its domain stays the
// best. It does not hold if a cluster is dropped that is no candidate then, since the scale of resources may change.
func (p *pass) choose(sameSpec bool) (chosen *bitset.BitSet, final bool) {
	none := p.chooser.in.Snapshot.EmptySet()
	unstable := p.unstable(sameSpec)
	chosen = p.pick(none, unstable)
	if unstable.Any() {
		chosen = p.pick(p.protected(chosen), none)
	}
	if p.termsCross() {
		chosen = p.withoutShrinking(chosen)
	}
	final = unstable.None() && len(p.chooser.program.Spread) == 0 && len(p.chooser.program.AntiAffinity) <= 1
	return chosen, final && (p.chooser.in.RetainedOnly.None() || p.chooser.in.RetainedOnly.Difference(chosen).None())
}

// termsCross reports whether a newcomer may take the place of several incumbents: it shares a domain of anti-affinity with one, and
// a domain of another term with another.
func (p *pass) termsCross() bool {
	return len(p.chooser.program.AntiAffinity) > 0 && len(p.chooser.program.AntiAffinity)+len(p.chooser.program.Spread) > 1
}

// withoutShrinking returns the choice or, if it has fewer clusters than the incumbents that may stand beside each other, these and
// what is allowed beside them.
func (p *pass) withoutShrinking(chosen *bitset.BitSet) *bitset.BitSet {
	newcomers := bitset.New(p.chooser.in.Snapshot.IDLimit())
	for _, id := range p.chooser.in.Candidates {
		if !p.incumbents.Test(id) {
			newcomers.Set(id)
		}
	}
	kept := p.pick(p.chooser.in.Snapshot.EmptySet(), newcomers)
	if kept.Count() <= chosen.Count() {
		return chosen
	}
	return p.pick(kept, p.chooser.in.Snapshot.EmptySet())
}

// protected returns the chosen clusters whose place no unstable cluster may take. These are the incumbents, the best
// newcomers, as many as incumbents were removed for them, and all newcomers that precede an incumbent that stays. Without
// them an unstable cluster could take the place that a stable cluster freed, which would then free another place. Or it
// could take a free place, and the newcomer of that place would displace the incumbent.
func (p *pass) protected(chosen *bitset.BitSet) *bitset.BitSet {
	out := chosen.Intersection(p.incumbents)
	var newcomers []int
	displaced, worst := 0, -1
	for i, id := range p.chooser.in.Candidates {
		switch {
		case p.isAbsent(i) || !p.chooser.eligible(i):
		case chosen.Test(id) && p.incumbents.Test(id):
			if worst < 0 || p.order.compare(i, worst) > 0 {
				worst = i
			}
		case chosen.Test(id):
			newcomers = append(newcomers, i)
		case p.incumbents.Test(id):
			displaced++
		}
	}
	slices.SortFunc(newcomers, p.order.compare)
	for n, i := range newcomers {
		if n < displaced || worst >= 0 && p.order.compare(i, worst) < 0 {
			out.Set(p.chooser.in.Candidates[i])
		}
	}
	return out
}

// byNames compares sets of clusters by their names, sorted.
func (c *chooser) byNames(a, b *bitset.BitSet) int { return slices.Compare(c.names(a), c.names(b)) }

// names returns the names of clusters, sorted.
func (c *chooser) names(of *bitset.BitSet) []string {
	out := make([]string, 0, of.Count())
	for _, id := range c.in.Snapshot.ByName(of) {
		out = append(out, c.in.Snapshot.Name(id))
	}
	return out
}
