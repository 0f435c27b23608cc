package selection

import (
	"cmp"
	"slices"
)

// maxConstraints is how many spread constraints a placement may have.
const maxConstraints = 8

// candidate is the best candidate of a profile, with the values that it is compared by.
type candidate struct {
	// position is its position in the list of candidates.
	position int
	// blocked is set if a hard constraint allows no more.
	blocked bool
	// hardExcess and softExcess are by how much each hard or soft constraint would be exceeded.
	hardExcess, softExcess [maxConstraints]int
	// emptiness is the sum over its domains, each weighted twice as much as the next.
	emptiness int
	// score is the total score including Spread.
	score int64
}

// addLevel adds the domain of a level, which has skew more clusters than the emptiest domain beside it. A hard constraint may
// only be exceeded until the domain is refilled, that is has the clusters back that it had. Its emptiness is from 100 without skew to -100
// at maxSkew, and each level counts twice as much as the next.
func (c *candidate) addLevel(t *tree, level, skew int, refilled bool) {
	constraint := t.spread[level]
	over := max(0, skew+1-constraint.MaxSkew)
	if constraint.Hard {
		c.blocked = c.blocked || over > 0 && refilled
		c.hardExcess[level] = over
	} else {
		c.softExcess[level] = over
	}
	emptiness := 100 - 200*min(skew, constraint.MaxSkew)/constraint.MaxSkew
	c.emptiness += emptiness << (len(t.spread) - 1 - level)
}

// candidateOf returns the best candidate of a bucket of the root.
func (g *greedy) candidateOf(of *bucket) candidate {
	out, levels := candidate{position: of.best, score: g.pass.order.totals[of.best]}, len(g.pass.chooser.tree.spread)
	if levels == 0 {
		return out
	}
	out.addLevel(g.pass.chooser.tree, 0, int(of.profile.counts[0])-g.counts.least[0], of.profile.refilled[0])
	for level := 1; level < levels; level++ {
		out.addLevel(g.pass.chooser.tree, level, int(of.profile.counts[level]), of.profile.refilled[level])
	}
	out.score += g.pass.chooser.program.SpreadWeight * int64(out.emptiness/(1<<levels-1))
	return out
}

// precedes reports whether a is chosen before b.
func (g *greedy) precedes(a, b candidate) bool {
	if a.blocked || b.blocked {
		return !a.blocked
	}
	if c := slices.Compare(a.hardExcess[:], b.hardExcess[:]); c != 0 {
		return c < 0
	}
	if c := g.pass.order.byTierAndTaint(a.position, b.position); c != 0 {
		return c < 0
	}
	if c := slices.Compare(a.softExcess[:], b.softExcess[:]); c != 0 {
		return c < 0
	}
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c < 0
	}
	return g.pass.order.byName(a.position, b.position) < 0
}
