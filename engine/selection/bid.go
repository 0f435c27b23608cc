package selection

import (
	"cmp"
	"slices"
)

// mostConstraints is how many spread constraints a placement may have.
const mostConstraints = 8

// bid is what the best candidate of a bucket is chosen by.
type bid struct {
	// head is the position of the candidate.
	head int
	// barred is set where a hard constraint allows no more, and where there is no candidate.
	barred bool
	// excess is by how much each soft constraint would be exceeded.
	excess [mostConstraints]int
	// total is the emptiness of the domains, each counted twice as much as the next.
	total int
	// score is the total score with that of the spread.
	score int64
}

// base is the part of a bid that comes from the domains around the leaves of a block, the block included.
func (g *greedy) base(block int) bid {
	var out bid
	for at := block; g.tree.domains[at].level > 0; at = g.tree.domains[at].parent {
		out.enter(g.tree, g.tree.domains[at].level-1, g.tally.skew(at))
	}
	return out
}

// enter adds a domain of a level that exceeds the emptiest beside it by some clusters.
func (b *bid) enter(t *tree, level, skew int) {
	constraint := t.spread[level]
	over := max(0, skew+1-constraint.MaxSkew)
	if constraint.Hard {
		b.barred = b.barred || over > 0
	} else {
		b.excess[level] = over
	}
	emptiness := 100 - 200*min(skew, constraint.MaxSkew)/constraint.MaxSkew
	b.total += emptiness << (len(t.spread) - 1 - level)
}

// bid returns what the best candidate of a bucket bids.
func (g *greedy) bid(base bid, block int, in bucket) bid {
	out, levels := base, len(g.tree.spread)
	if len(in.leaves) == 0 {
		out.barred = true
		return out
	}
	out.head = g.open[in.leaves[0]][0]
	out.score = g.order.totals[out.head]
	if levels > 0 {
		out.enter(g.tree, levels-1, in.count-g.tally.least[block])
		out.score += g.program.SpreadWeight * int64(out.total/(1<<levels-1))
	}
	return out
}

// ahead says whether bid a goes before bid b.
func (g *greedy) ahead(a, b bid) bool {
	if a.barred || b.barred {
		return !a.barred
	}
	if c := g.order.byStanding(a.head, b.head); c != 0 {
		return c < 0
	}
	if c := slices.Compare(a.excess[:], b.excess[:]); c != 0 {
		return c < 0
	}
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c < 0
	}
	return g.order.byName(a.head, b.head) < 0
}
