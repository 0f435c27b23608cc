package selection

import (
	"github.com/bits-and-blooms/bitset"
)

// pick chooses clusters one by one until there are as many as wanted. Forced clusters are chosen first, whatever the
// constraints, and count. Clusters in without are not chosen. Each step chooses the best candidate that anti-affinity and the
// hard constraints allow beside the clusters chosen before.
//
// A hard constraint limits new choices. Once a domain can only get clusters beyond the skew, it is filled up to as many clusters
// as it had before, and no further. So a domain that appears takes no cluster from another domain without taking its place.
//
// It is greedy: a chosen cluster stays chosen. Finding the largest or the best allowed choice takes exponential time when
// anti-affinity terms over several topologies cross.
func (p *pass) pick(forced, without *bitset.BitSet) *bitset.BitSet {
	out := bitset.New(p.chooser.in.Snapshot.IDLimit())
	out.InPlaceUnion(forced)
	left, excluded := p.chooser.wanted-int(forced.Count()), p.excluded(forced, without)
	if p.chooser.tree == nil {
		for _, i := range p.order.top(left, excluded) {
			out.Set(p.chooser.in.Candidates[i])
		}
		return out
	}
	g := newGreedy(p, forced, excluded)
	for ; left > 0; left-- {
		i, ok := g.next()
		if !ok {
			break
		}
		out.Set(p.chooser.in.Candidates[i])
	}
	return out
}

// excluded returns the clusters that a pick does not choose.
func (p *pass) excluded(forced, without *bitset.BitSet) *bitset.BitSet {
	if p.absent.None() && without.None() && forced.None() {
		return p.chooser.in.Snapshot.EmptySet()
	}
	out := p.absent.Union(without)
	out.InPlaceUnion(forced)
	return out
}

// staying returns the incumbents that may stay: the candidates and the forced clusters.
func (p *pass) staying(forced *bitset.BitSet) *bitset.BitSet {
	out := bitset.New(p.chooser.in.Snapshot.IDLimit())
	for i, id := range p.chooser.in.Candidates {
		if p.chooser.eligible(i) && p.incumbents.Test(id) {
			out.Set(id)
		}
	}
	out.InPlaceUnion(p.incumbents.Intersection(forced))
	return out
}

// greedy is the state of one pick. All candidates of a profile are ranked the same by the constraints, so each step compares
// only the best candidate of each profile.
type greedy struct {
	pass *pass

	counts *domainCounts
	// remaining are the candidates of each leaf that may still be chosen. Most leaves are never used, so only the leaves in
	// isHeap are heaps; the others only have their best first.
	remaining []heap
	isHeap    bitset.BitSet
	buckets   *buckets
}

func newGreedy(r *pass, forced, excluded *bitset.BitSet) *greedy {
	g := &greedy{pass: r, counts: newDomainCounts(r.chooser.tree, r.absent), remaining: make([]heap, len(r.chooser.tree.domains))}
	room := make(heap, len(r.chooser.in.Candidates))
	for leaf, size := range r.chooser.tree.sizes() {
		g.remaining[leaf], room = room[:0:size], room[size:]
	}
	for i, leaf := range r.chooser.tree.leafOf {
		if leaf != outside && !excluded.Test(r.chooser.in.Candidates[i]) {
			g.remaining[leaf] = append(g.remaining[leaf], i)
		}
	}
	for _, candidates := range g.remaining {
		candidates.bestFirst(r.order.compare)
	}
	for id := range forced.EachSet() {
		g.counts.add(id)
	}
	g.counts.countBefore(r.staying(forced))
	g.buckets = newBuckets(r.chooser.tree, g.counts, r.order.compare)
	g.buckets.fill(g.remaining)
	return g
}

// next returns the position of the best allowed candidate, and counts it as chosen. A candidate that anti-affinity blocks stays
// blocked, so it is dropped.
func (g *greedy) next() (position int, ok bool) {
	for {
		best, ok := g.best()
		if !ok {
			return 0, false
		}
		free := g.counts.allowed(g.pass.chooser.in.Candidates[best])
		g.take(best, free)
		if free {
			return best, true
		}
	}
}

// best returns the best candidate of all profiles. Ok is false if the hard constraints allow none.
func (g *greedy) best() (position int, ok bool) {
	best := candidate{blocked: true}
	for _, number := range g.buckets.byDomain[0] {
		if next := g.candidateOf(&g.buckets.byNumber[number]); g.precedes(next, best) {
			best = next
		}
	}
	return best.position, !best.blocked
}

// take removes the best candidate of a leaf and, if it is chosen, counts it. Meanwhile the buckets of the domains around it are
// detached, because their profiles change.
func (g *greedy) take(position int, chosen bool) {
	leaf := g.pass.chooser.tree.leafOf[position]
	g.eachAbove(leaf, g.buckets.detach)
	if !g.isHeap.Test(uint(leaf)) {
		g.isHeap.Set(uint(leaf))
		g.remaining[leaf].init(g.pass.order.compare)
	}
	g.remaining[leaf].pop(g.pass.order.compare)
	if chosen {
		g.counts.add(g.pass.chooser.in.Candidates[position])
	}
	if len(g.remaining[leaf]) == 0 {
		g.buckets.byDomain[leaf] = nil
	} else {
		g.buckets.byNumber[leaf].best = g.remaining[leaf][0]
	}
	for at := leaf; at != 0; at = g.pass.chooser.tree.domains[at].parent {
		g.buckets.attach(at)
	}
}

// eachAbove calls do for the domains from below the root to a leaf.
func (g *greedy) eachAbove(at int, do func(int)) {
	if at == 0 {
		return
	}
	g.eachAbove(g.pass.chooser.tree.domains[at].parent, do)
	do(at)
}
