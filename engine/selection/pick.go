package selection

import (
	"cmp"
	"slices"

	"github.com/bits-and-blooms/bitset"
)

// pick chooses clusters one by one until all seats are taken. Those that are forced are seated first, whatever the
// constraints say of them, and take up room; clusters in without are not chosen. Each seat goes to the best of those that
// anti-affinity and the hard constraints allow beside the ones before.
//
// It is greedy: a seat once given is not taken back. Finding the largest allowed choice, or that of the highest total, is
// a search without a bound where anti-affinity over several topologies crosses.
func (r *round) pick(forced, without *bitset.BitSet) *bitset.BitSet {
	out := forced.Clone()
	left := r.seats - int(forced.Count())
	open := func(i int) bool {
		id := r.Candidates[i]
		return !r.absent(i) && !forced.Test(id) && !without.Test(id)
	}
	if r.tree == nil {
		for _, i := range r.order.top(left, open) {
			out.Set(r.Candidates[i])
		}
		return out
	}
	g := newGreedy(r, forced, open)
	for ; left > 0; left-- {
		i, ok := g.next()
		if !ok {
			break
		}
		out.Set(r.Candidates[i])
	}
	return out
}

// greedy is the work of one pick. Each leaf keeps its candidates in a heap, and what its best one would be chosen by; a
// tournament among the leaves finds the best of all. A choice changes few leaves: those of its outermost domain, and all
// of them only when the emptiest outermost domain got a cluster.
type greedy struct {
	*round

	tally   *tally
	heaps   [][]int
	bids    []bid
	winners tournament
}

// bid is what the best candidate of a leaf is chosen by, beside its place in the order.
type bid struct {
	// barred is set where a hard constraint lets the leaf have no more.
	barred bool
	// excess is by how much each soft constraint would be exceeded.
	excess []int
	// spread is how empty the domains of the leaf are, from -100 to 100.
	spread int64
}

func newGreedy(r *round, forced *bitset.BitSet, open func(position int) bool) *greedy {
	leaves, soft := len(r.tree.leaves), 0
	for _, constraint := range r.tree.spread {
		if !constraint.Hard {
			soft++
		}
	}
	g := &greedy{round: r, tally: newTally(r.tree, r.absent), heaps: make([][]int, leaves), bids: make([]bid, leaves)}
	for i, leaf := range r.tree.leafOf {
		if leaf != outside && open(i) {
			g.heaps[leaf] = append(g.heaps[leaf], i)
		}
	}
	excess := make([]int, leaves*soft)
	for leaf := range leaves {
		heapify(g.heaps[leaf], r.order.compare)
		g.bids[leaf].excess = excess[leaf*soft : (leaf+1)*soft]
	}
	for id := range forced.EachSet() {
		g.tally.add(r.Snapshot.Cluster(id))
	}
	g.winners = newTournament(leaves)
	g.bid(0)
	return g
}

// next returns the position of the best candidate that is allowed, and counts it as chosen. A candidate that
// anti-affinity bars stays barred, so its leaf goes on to the next.
func (g *greedy) next() (position int, ok bool) {
	for {
		leaf := g.winners.best()
		if leaf == nobody || len(g.heaps[leaf]) == 0 || g.bids[leaf].barred {
			return 0, false
		}
		position = g.heaps[leaf][0]
		g.heaps[leaf] = pop(g.heaps[leaf], g.order.compare)
		c := g.Snapshot.Cluster(g.Candidates[position])
		if g.tally.free(c) {
			g.bid(g.tally.add(c))
			return position, true
		}
		g.winners.replay(leaf, leaf+1, g.better)
	}
}

// bid lets the leaves of a domain bid anew.
func (g *greedy) bid(domain int) {
	d := g.tree.domains[domain]
	for leaf := d.first; leaf < d.end; leaf++ {
		g.value(leaf)
	}
	g.winners.replay(d.first, d.end, g.better)
}

// value works out the bid of a leaf from the domains that it is in, the innermost first.
func (g *greedy) value(leaf int) {
	b, soft, total := &g.bids[leaf], len(g.bids[leaf].excess), 0
	b.barred = false
	levels := len(g.tree.spread)
	at := g.tree.leaves[leaf]
	for level := levels - 1; level >= 0; level-- {
		constraint, skew := g.tree.spread[level], g.tally.skew(at)
		over := max(0, skew+1-constraint.MaxSkew)
		if constraint.Hard {
			b.barred = b.barred || over > 0
		} else {
			soft--
			b.excess[soft] = over
		}
		emptiness := 100 - 200*min(skew, constraint.MaxSkew)/constraint.MaxSkew
		total += emptiness << (levels - 1 - level)
		at = g.tree.domains[at].parent
	}
	if levels > 0 {
		b.spread = int64(total / (1<<levels - 1))
	}
}

// better says whether the best candidate of leaf a goes before that of leaf b.
func (g *greedy) better(a, b int) bool {
	x, y := g.bids[a], g.bids[b]
	switch {
	case len(g.heaps[b]) == 0 || y.barred:
		return true
	case len(g.heaps[a]) == 0 || x.barred:
		return false
	}
	i, j := g.heaps[a][0], g.heaps[b][0]
	if c := g.order.byStanding(i, j); c != 0 {
		return c < 0
	}
	if c := slices.Compare(x.excess, y.excess); c != 0 {
		return c < 0
	}
	weight := g.program.SpreadWeight
	if c := cmp.Compare(g.order.totals[j]+weight*y.spread, g.order.totals[i]+weight*x.spread); c != 0 {
		return c < 0
	}
	return g.order.byName(i, j) < 0
}
