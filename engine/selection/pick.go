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
func (r *round) pick(forced, without *bitset.BitSet) *bitset.BitSet {
	out := bitset.New(r.Snapshot.Size())
	out.InPlaceUnion(forced)
	left, shut := r.seats-int(forced.Count()), r.shut(forced, without)
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

// shut returns those whom a pick does not choose.
func (r *round) shut(forced, without *bitset.BitSet) *bitset.BitSet {
	if r.missing.None() && without.None() && forced.None() {
		return r.Snapshot.Nobody()
	}
	out := r.missing.Union(without)
	out.InPlaceUnion(forced)
	return out
}

// greedy is the work of one pick. What clusters are chosen by beside their place in the order is the same for those of
// one leaf, and for those of all leaves of a block that have as many chosen. So each block keeps its leaves in buckets by
// count, a bucket its leaves and a leaf its candidates in heaps, and a choice among ten thousand leaves looks at the tops
// of a few buckets. A tournament among the blocks finds the best of all: a choice changes few of them, those of its
// outermost domain, and all only when the emptiest outermost domain got a cluster.
type greedy struct {
	*round

	tally *tally
	// open are the candidates that may yet be chosen, per leaf; most leaves are never touched, so only those in heaped are
	// more than led by their best.
	open    []heap
	heaped  bitset.BitSet
	blocks  []block
	winners tournament
}

// block is a domain whose parts are leaves: its buckets, the fullest last, and what the best candidate of all bids.
type block struct {
	buckets []bucket
	best    int
	bid     bid
}

// bucket has the leaves of a block that have the same count, and candidates.
type bucket struct {
	count  int
	leaves heap
}

func newGreedy(r *round, forced, shut *bitset.BitSet) *greedy {
	g := &greedy{
		round: r, tally: newTally(r.tree, r.missing), open: make([]heap, len(r.tree.domains)),
		blocks: make([]block, len(r.tree.blocks)), winners: newTournament(len(r.tree.blocks)),
	}
	room := make(heap, len(r.Candidates))
	for leaf, size := range r.tree.sizes() {
		g.open[leaf], room = room[:0:size], room[size:]
	}
	for i, leaf := range r.tree.leafOf {
		if leaf != outside && !shut.Test(r.Candidates[i]) {
			g.open[leaf] = append(g.open[leaf], i)
		}
	}
	for id := range forced.EachSet() {
		g.tally.add(id)
	}
	for i, at := range r.tree.blocks {
		for _, leaf := range r.tree.domains[at].parts {
			g.open[leaf].lead(r.order.compare)
			g.put(i, leaf)
		}
	}
	g.offer(0)
	return g
}

// next returns the position of the best candidate that is allowed, and counts it as chosen. A candidate that
// anti-affinity bars stays barred, so its leaf goes on to the next.
func (g *greedy) next() (position int, ok bool) {
	for {
		i := g.winners.best()
		if i == nobody || g.blocks[i].bid.barred {
			return 0, false
		}
		position = g.blocks[i].bid.head
		leaf := g.take(i)
		id := g.Candidates[position]
		if g.tally.free(id) {
			changed := g.tally.add(id)
			g.put(i, leaf)
			g.offer(changed)
			return position, true
		}
		g.put(i, leaf)
		g.offer(g.tree.blocks[i])
	}
}

// take takes the best candidate out of its leaf, and the leaf out of its bucket.
func (g *greedy) take(i int) (leaf int) {
	b := &g.blocks[i]
	leaf = b.buckets[b.best].leaves.pop(g.byHead)
	if !g.heaped.Test(uint(leaf)) {
		g.heaped.Set(uint(leaf))
		g.open[leaf].order(g.order.compare)
	}
	g.open[leaf].pop(g.order.compare)
	return leaf
}

// put puts a leaf into the bucket of its count, unless it has no candidates left.
func (g *greedy) put(i, leaf int) {
	if len(g.open[leaf]) == 0 {
		return
	}
	b, count, at := &g.blocks[i], g.tally.counts[leaf], 0
	for at < len(b.buckets) && b.buckets[at].count != count {
		at++
	}
	if at == len(b.buckets) {
		b.buckets = append(b.buckets, bucket{count: count})
	}
	b.buckets[at].leaves.push(leaf, g.byHead)
}

// byHead compares leaves by the best candidate of each.
func (g *greedy) byHead(a, b int) int { return g.order.compare(g.open[a][0], g.open[b][0]) }

// offer lets the blocks of a domain bid anew.
func (g *greedy) offer(domain int) {
	d := g.tree.domains[domain]
	for i := d.first; i < d.end; i++ {
		b, base := &g.blocks[i], g.base(g.tree.blocks[i])
		b.bid = bid{barred: true}
		for at, bucket := range b.buckets {
			if bid := g.bid(base, g.tree.blocks[i], bucket); g.ahead(bid, b.bid) {
				b.best, b.bid = at, bid
			}
		}
	}
	g.winners.replay(d.first, d.end, func(a, b int) bool { return g.ahead(g.blocks[a].bid, g.blocks[b].bid) })
}
