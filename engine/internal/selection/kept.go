package selection

import "github.com/bits-and-blooms/bitset"

// brakedIncumbents returns the incumbents that a brake keeps. A cluster that is being deleted is not kept.
func (c *chooser) brakedIncumbents() *bitset.BitSet {
	if len(c.in.Past.Braked) == 0 {
		return c.in.Snapshot.EmptySet()
	}
	out := &bitset.BitSet{}
	for name := range c.in.Past.Braked {
		if id, known := c.in.Snapshot.ID(name); known && c.in.Incumbents.Test(id) && !c.in.Snapshot.Cluster(id).Terminating() {
			out.Set(id)
		}
	}
	return out
}

// ideal returns what would be chosen without a disruption policy: the stable choice that starts from some incumbents, and the kept
// clusters.
func (c *chooser) ideal(incumbents *bitset.BitSet, sameSpec bool) *bitset.BitSet {
	return c.keep(incumbents, c.stabilize(incumbents, sameSpec))
}

// keep returns a stable choice that starts from some incumbents, with the clusters that are kept though it does not have them. They take
// the places of newcomers.
func (c *chooser) keep(incumbents, stable *bitset.BitSet) *bitset.BitSet {
	if c.kept.None() {
		return stable
	}
	kept := c.kept.Difference(stable)
	if kept.None() {
		return stable
	}
	forced := stable.Intersection(incumbents)
	for _, id := range c.in.Snapshot.ByName(kept) {
		if int(forced.Count()) >= c.wanted {
			break
		}
		forced.Set(id)
	}
	if c.domainUnknown() {
		return forced
	}
	return c.passFor(incumbents).pick(forced, c.in.Snapshot.EmptySet())
}

// domainUnknown reports whether a cluster is retained that has lost the label or claim of a required topology. It may be in any domain, so
// no newcomer is chosen beside it.
func (c *chooser) domainUnknown() bool {
	for id := range c.in.Retained.EachSet() {
		if at, candidate := c.positionOf(id); candidate && !c.eligible(at) {
			return true
		}
	}
	return false
}
