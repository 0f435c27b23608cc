package selection

import (
	"cmp"
	"slices"
)

// mostConstraints is how many spread constraints a placement may have.
const mostConstraints = 8

// bid is what the best candidate of a profile is chosen by.
type bid struct {
	// head is the position of the candidate.
	head int
	// barred is set where a hard constraint allows no more.
	barred bool
	// excess is by how much each soft constraint would be exceeded.
	excess [mostConstraints]int
	// total is the emptiness of the domains, each counted twice as much as the next.
	total int
	// score is the total score with that of the spread.
	score int64
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

// bid returns what the best candidate of a bucket of the root bids.
func (g *greedy) bid(of *bucket) bid {
	out, levels := bid{head: of.head, score: g.order.totals[of.head]}, len(g.tree.spread)
	if levels == 0 {
		return out
	}
	out.enter(g.tree, 0, int(of.profile[0])-g.tally.least[0])
	for level := 1; level < levels; level++ {
		out.enter(g.tree, level, int(of.profile[level]))
	}
	out.score += g.program.SpreadWeight * int64(out.total/(1<<levels-1))
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
