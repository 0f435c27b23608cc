package selection

import (
	"github.com/bits-and-blooms/bitset"
)

// pick chooses clusters one by one until all seats are taken. Those that are forced are seated first, whatever the
// constraints say of them, and take up room; clusters in without are not chosen. Each seat goes to the best of those that
// anti-affinity and the hard constraints allow beside the ones before.
//
// It is greedy: a seat once given is not taken back. Finding the largest allowed choice, or that of the highest total, is
// a search without a bound where anti-affinity over several topologies crosses.
func (r *pass) pick(forced, without *bitset.BitSet) *bitset.BitSet {
	out := bitset.New(r.Snapshot.IDLimit())
	out.InPlaceUnion(forced)
	left, shut := r.wanted-int(forced.Count()), r.excluded(forced, without)
	if r.tree == nil {
		for _, i := range r.order.top(left, shut) {
			out.Set(r.Candidates[i])
		}
		return out
	}
	g := newGreedy(r, forced, shut)
	for ; left > 0; left-- {
		i, ok := g.next()
		if !ok {
			break
		}
		out.Set(r.Candidates[i])
	}
	return out
}

// excluded returns those whom a pick does not choose.
func (r *pass) excluded(forced, without *bitset.BitSet) *bitset.BitSet {
	if r.absent.None() && without.None() && forced.None() {
		return r.Snapshot.EmptySet()
	}
	out := r.absent.Union(without)
	out.InPlaceUnion(forced)
	return out
}

// greedy is the work of one pick. What clusters are chosen by beside their place in the order is the same for all of one
// profile, so a choice looks at the best candidate of each profile, of which there are few.
type greedy struct {
	*pass

	counts *domainCounts
	// remaining are the candidates that may yet be chosen, per leaf; most leaves are never touched, so only those in heaped are
	// more than led by their best.
	remaining []heap
	isHeap    bitset.BitSet
	buckets   *buckets
}

func newGreedy(r *pass, forced, shut *bitset.BitSet) *greedy {
	g := &greedy{pass: r, counts: newDomainCounts(r.tree, r.absent), remaining: make([]heap, len(r.tree.domains))}
	room := make(heap, len(r.Candidates))
	for leaf, size := range r.tree.sizes() {
		g.remaining[leaf], room = room[:0:size], room[size:]
	}
	for i, leaf := range r.tree.leafOf {
		if leaf != outside && !shut.Test(r.Candidates[i]) {
			g.remaining[leaf] = append(g.remaining[leaf], i)
		}
	}
	for _, open := range g.remaining {
		open.bestFirst(r.order.compare)
	}
	for id := range forced.EachSet() {
		g.counts.add(id)
	}
	g.buckets = newBuckets(r.tree, g.counts, r.order.compare)
	g.buckets.fill(g.remaining)
	return g
}

// next returns the position of the best candidate that is allowed, and counts it as chosen. A candidate that
// anti-affinity bars stays barred, so its leaf goes on to the next.
func (g *greedy) next() (position int, ok bool) {
	for {
		best, ok := g.best()
		if !ok {
			return 0, false
		}
		free := g.counts.allowed(g.Candidates[best])
		g.take(best, free)
		if free {
			return best, true
		}
	}
}

// best returns the candidate with the best bid. Ok is false where the hard constraints allow none.
func (g *greedy) best() (position int, ok bool) {
	best := candidate{blocked: true}
	for _, number := range g.buckets.byDomain[0] {
		if bid := g.candidateOf(&g.buckets.byNumber[number]); g.precedes(bid, best) {
			best = bid
		}
	}
	return best.position, !best.blocked
}

// take takes the best candidate of a leaf out of it and counts it, where it is chosen. The buckets of the domains around it
// are out of those above meanwhile, the outermost first, since their profiles change.
func (g *greedy) take(position int, chosen bool) {
	leaf := g.tree.leafOf[position]
	g.eachAbove(leaf, g.buckets.detach)
	if !g.isHeap.Test(uint(leaf)) {
		g.isHeap.Set(uint(leaf))
		g.remaining[leaf].init(g.order.compare)
	}
	g.remaining[leaf].pop(g.order.compare)
	if chosen {
		g.counts.add(g.Candidates[position])
	}
	if len(g.remaining[leaf]) == 0 {
		g.buckets.byDomain[leaf] = nil
	} else {
		g.buckets.byNumber[leaf].best = g.remaining[leaf][0]
	}
	for at := leaf; at != 0; at = g.tree.domains[at].parent {
		g.buckets.attach(at)
	}
}

// eachAbove calls do for the domains around a leaf but the root, the outermost first, and for the leaf.
func (g *greedy) eachAbove(at int, do func(int)) {
	if at == 0 {
		return
	}
	g.eachAbove(g.tree.domains[at].parent, do)
	do(at)
}
