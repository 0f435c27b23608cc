package selection

import (
	"slices"

	"github.com/bits-and-blooms/bitset"
)

// maxPasses is how often a choice is made anew before the last one counts. It has never been seen to be reached.
const maxPasses = 16

// stabilize chooses with the incumbents given, then with those chosen as the incumbents, and so on until a choice confirms
// itself. Where choices take turns without an end, the one whose names come first counts, whichever of them one starts
// from.
func (r *chooser) stabilize(incumbents *bitset.BitSet, sameSpec bool) *bitset.BitSet {
	seen := []*bitset.BitSet{incumbents}
	for range maxPasses {
		next, final := r.passFor(seen[len(seen)-1]).choose(sameSpec)
		if final {
			return next
		}
		if at := slices.IndexFunc(seen, func(set *bitset.BitSet) bool { return equalSets(set, next) }); at >= 0 {
			return slices.MinFunc(seen[at:], r.byNames)
		}
		seen = append(seen, next)
	}
	return seen[maxPasses]
}

// choose returns whom the round chooses. Final says that a run which starts from there chooses the same. Without spread,
// and with one anti-affinity at most, it does: being chosen only adds to a cluster's score, and the best of its domain
// stays the best of it.
func (r *pass) choose(sameSpec bool) (chosen *bitset.BitSet, final bool) {
	nobody := r.Snapshot.EmptySet()
	unstable := r.unstable(sameSpec)
	chosen = r.pick(nobody, unstable)
	if unstable.Any() {
		return r.pick(r.protected(chosen), nobody), false
	}
	return chosen, len(r.program.Spread) == 0 && len(r.program.AntiAffinity) <= 1
}

// protected returns those of the chosen whose place no unstable cluster may take: the incumbents, and of the newcomers, in
// order, as many as incumbents had to go for them, and all that go before an incumbent that stays. Else an unstable cluster
// would take the place that a stable one freed, which would then free another; or it would take a free place, and the
// newcomer whose place it was would displace the incumbent.
func (r *pass) protected(chosen *bitset.BitSet) *bitset.BitSet {
	out := chosen.Intersection(r.incumbents)
	var newcomers []int
	displaced, worst := 0, -1
	for i, id := range r.Candidates {
		switch {
		case r.isAbsent(i) || !r.eligible(i):
		case chosen.Test(id) && r.incumbents.Test(id):
			if worst < 0 || r.order.compare(i, worst) > 0 {
				worst = i
			}
		case chosen.Test(id):
			newcomers = append(newcomers, i)
		case r.incumbents.Test(id):
			displaced++
		}
	}
	slices.SortFunc(newcomers, r.order.compare)
	for n, i := range newcomers {
		if n < displaced || worst >= 0 && r.order.compare(i, worst) < 0 {
			out.Set(r.Candidates[i])
		}
	}
	return out
}

// byNames compares sets of clusters by their names, sorted.
func (r *chooser) byNames(a, b *bitset.BitSet) int { return slices.Compare(r.names(a), r.names(b)) }

// names returns the names of clusters, sorted.
func (r *chooser) names(of *bitset.BitSet) []string {
	out := make([]string, 0, of.Count())
	for _, id := range r.Snapshot.ByName(of) {
		out = append(out, r.Snapshot.Name(id))
	}
	return out
}
