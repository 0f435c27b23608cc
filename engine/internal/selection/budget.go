package selection

import (
	"cmp"
	"slices"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
)

// budgeted is a choice within the disruption budget.
type budgeted struct {
	chosen *bitset.BitSet
	// held are the chosen clusters that would be removed, in the order of their removal.
	held []fleet.ID
	// since is when each of them was first held, until when it is released; zero for never.
	since, until map[fleet.ID]time.Time
	// spent and releasing are stored in the ledger.
	spent     []ledger.Removal
	releasing []string
}

// heldByName returns since when each cluster is held, by name.
func (b *budgeted) heldByName(s *fleet.Snapshot) map[string]time.Time {
	if len(b.held) == 0 {
		return nil
	}
	out := make(map[string]time.Time, len(b.held))
	for _, id := range b.held {
		out[s.Name(id)] = b.since[id]
	}
	return out
}

// applyBudget removes as many incumbents as the budget allows, and keeps the others.
func (c *chooser) applyBudget(ideal *bitset.BitSet) budgeted {
	if c.program.Budget == nil {
		return budgeted{chosen: ideal}
	}
	leaving := c.removals(ideal)
	late := int(leaving.paid.Count())
	out := budgeted{chosen: ideal, spent: ledger.Redate(c.in.Past.Removals, late, *c.program.Budget, c.in.Snapshot.Now)}
	released := c.release(leaving, &out)
	if len(released) > 0 {
		out.spent = ledger.RecordRemovals(out.spent, len(released), *c.program.Budget, c.in.Snapshot.Now)
	}
	for _, id := range released {
		leaving.paid.Set(id)
	}
	out.releasing = c.names(leaving.paid)
	if len(released) < len(leaving.queue) {
		c.holdRest(&out, leaving)
	}
	return out
}

// removals are the incumbents that the ideal choice does not have.
type removals struct {
	ideal *bitset.BitSet
	// stay are the incumbents that are not removed: neither without the budget nor paid by it.
	stay *bitset.BitSet
	// paid were charged to the budget before and still exist. queue needs the budget, the next to be removed first.
	paid  *bitset.BitSet
	queue []fleet.ID
}

// removals divides them. Clusters outside the scope are removed without the budget and, after a change of the spec, all clusters
// that were not held before.
func (c *chooser) removals(ideal *bitset.BitSet) removals {
	out := removals{ideal: ideal, stay: c.in.Incumbents.Intersection(c.in.Scope), paid: &bitset.BitSet{}}
	if c.kept.Any() {
		out.stay.InPlaceUnion(c.kept.Intersection(ideal))
	}
	since := map[fleet.ID]time.Time{}
	for id := range out.stay.Difference(ideal).EachSet() {
		name := c.in.Snapshot.Name(id)
		_, held := c.in.Past.Held[name]
		_, paid := slices.BinarySearch(c.in.Past.Releasing, name)
		switch {
		case paid:
			out.stay.Clear(id)
			out.paid.Set(id)
		case !c.in.Past.SameSpec && !held:
			out.stay.Clear(id)
		default:
			since[id] = ledger.Since(c.in.Past.Held, name, c.in.Snapshot.Now)
			out.queue = append(out.queue, id)
		}
	}
	c.sortForRemoval(out.queue, since)
	return out
}

// sortForRemoval sorts clusters in the order of their removal: held longest first, then those that no longer qualify, then by
// name.
func (c *chooser) sortForRemoval(in []fleet.ID, since map[fleet.ID]time.Time) {
	slices.SortFunc(in, func(a, b fleet.ID) int {
		_, qualifiesA := c.positionOf(a)
		_, qualifiesB := c.positionOf(b)
		return cmp.Or(since[a].Compare(since[b]), trueFirst(!qualifiesA, !qualifiesB),
			cmp.Compare(c.in.Snapshot.Name(a), c.in.Snapshot.Name(b)))
	})
}

// release finds how many of the queue are removed now, and which clusters are chosen then. A percentage is of the selected
// clusters: of those before or, if they are more, of those after. For those after, a cluster that would be chosen again at once
// is not removed, because that frees no place.
func (c *chooser) release(leaving removals, out *budgeted) (released []fleet.ID) {
	room := func(selected *bitset.BitSet) int {
		return ledger.Allowance(*c.program.Budget, int(selected.Count()), out.spent, c.in.Snapshot.Now)
	}
	least := min(len(leaving.queue), room(c.percentageBase(out.spent)))
	out.chosen = c.chooseAfterRemoving(leaving, least)
	for most := min(len(leaving.queue), room(out.chosen)); least < most; {
		middle := (least + most + 1) / 2
		chosen := c.chooseAfterRemoving(leaving, middle)
		if middle > room(chosen) || slices.ContainsFunc(leaving.queue[:middle], chosen.Test) {
			most = middle - 1
		} else {
			least, out.chosen = middle, chosen
		}
	}
	return leaving.queue[:least]
}

// percentageBase returns the clusters selected before; a percentage of them may be removed. It returns no clusters if
// clusters were removed within the interval while others were held. The selected clusters may then be more than before,
// because newcomers came and the held clusters stayed. Counting them would release more clusters in the next run although
// nothing has changed.
func (c *chooser) percentageBase(spent []ledger.Removal) *bitset.BitSet {
	stayed := len(c.in.Past.Held)+len(c.in.Past.Releasing) > 0
	if c.in.Past.SameSpec && stayed && ledger.CountActive(spent, *c.program.Budget, c.in.Snapshot.Now) > 0 {
		return c.in.Snapshot.EmptySet()
	}
	return c.in.Incumbents
}

// chooseAfterRemoving returns the chosen clusters when the first of the queue are removed.
func (c *chooser) chooseAfterRemoving(leaving removals, released int) *bitset.BitSet {
	if released == len(leaving.queue) {
		return leaving.ideal
	}
	return c.firstPass().pick(c.keptIncumbents(leaving, released), c.in.Snapshot.EmptySet())
}

// keptIncumbents returns the incumbents that stay when the first of the queue are removed. If that is more than are wanted, more
// of the queue are removed without the budget.
func (c *chooser) keptIncumbents(leaving removals, released int) *bitset.BitSet {
	out := leaving.stay.Clone()
	gone := max(released, int(out.Count())-c.wanted)
	for _, id := range leaving.queue[:min(gone, len(leaving.queue))] {
		out.Clear(id)
	}
	return out
}

// holdRest finds the chosen clusters that the next run would remove, and since when and until when each is held. A cluster that
// was charged to the budget and is chosen again starts at the end of the queue.
func (c *chooser) holdRest(out *budgeted, leaving removals) {
	ideal := leaving.ideal
	if !equalSets(out.chosen, c.in.Incumbents) || !c.in.Past.SameSpec {
		ideal = c.ideal(out.chosen, true)
	}
	out.since, out.until = map[fleet.ID]time.Time{}, map[fleet.ID]time.Time{}
	for id := range out.chosen.Difference(ideal).EachSet() {
		out.held = append(out.held, id)
		out.since[id] = ledger.Since(c.in.Past.Held, c.in.Snapshot.Name(id), c.in.Snapshot.Now)
		if leaving.paid.Test(id) {
			out.since[id] = ledger.RoundUp(c.in.Snapshot.Now)
		}
	}
	c.sortForRemoval(out.held, out.since)
	selected := int(out.chosen.Count())
	for i, at := range ledger.ReleaseTimes(*c.program.Budget, selected, len(out.held), out.spent, c.in.Snapshot.Now) {
		out.until[out.held[i]] = at
	}
}
