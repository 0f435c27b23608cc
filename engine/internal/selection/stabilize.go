package selection

import (
	"slices"

	"github.com/bits-and-blooms/bitset"
)

// maxPasses is the most passes of one choice. No test has reached it.
const maxPasses = 16

// stabilize chooses with the given incumbents, then with the chosen clusters as incumbents, until a choice repeats. If choices
// alternate, it takes the one whose names come first, so the result does not depend on the start.
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

// choose returns the choice of the pass. Final is set if a run that starts from it chooses the same. That holds without spread
// and with at most one anti-affinity term: being chosen only raises a cluster's score, and the best of its domain stays the
// best.
func (r *pass) choose(sameSpec bool) (chosen *bitset.BitSet, final bool) {
	none := r.Snapshot.EmptySet()
	unstable := r.unstable(sameSpec)
	chosen = r.pick(none, unstable)
	if unstable.Any() {
		return r.pick(r.protected(chosen), none), false
	}
	return chosen, len(r.program.Spread) == 0 && len(r.program.AntiAffinity) <= 1
}

// protected returns the chosen clusters whose place no unstable cluster may take. These are the incumbents, the best
// newcomers, as many as incumbents were removed for them, and all newcomers that precede an incumbent that stays. Without
// them an unstable cluster could take the place that a stable cluster freed, which would then free another place. Or it
// could take a free place, and the newcomer of that place would displace the incumbent.
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
