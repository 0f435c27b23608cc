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

// ideal returns what would be chosen without a disruption policy: the stable choice that starts from some incumbents, and the clusters that
// a brake keeps.
func (c *chooser) ideal(incumbents *bitset.BitSet, sameSpec bool) *bitset.BitSet {
	stable := c.stabilize(incumbents, sameSpec)
	if c.braked.None() {
		return stable
	}
	kept := c.braked.Difference(stable)
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
	return c.passFor(incumbents).pick(forced, c.in.Snapshot.EmptySet())
}
