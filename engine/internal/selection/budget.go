package selection

import (
	"cmp"
	"slices"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
)

// throttled is the choice after the disruption policy has held back removals.
type throttled struct {
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
func (p *throttled) heldByName(s *fleet.Snapshot) map[string]time.Time {
	if len(p.held) == 0 {
		return nil
	}
	out := make(map[string]time.Time, len(p.held))
	for _, id := range p.held {
		out[s.Name(id)] = p.since[id]
	}
	return out
}

// throttle removes as many incumbents as the budget allows, and keeps the others.
func (r *chooser) throttle(ideal *bitset.BitSet) throttled {
	if r.program.Budget == nil {
		return throttled{chosen: ideal}
	}
	e := r.removals(ideal)
	late := int(e.paid.Count())
	out := throttled{chosen: ideal, spent: ledger.Redate(r.Past.Removals, late, *r.program.Budget, r.Snapshot.Now)}
	released := r.release(e, &out)
	if len(released) > 0 {
		out.spent = ledger.RecordRemovals(out.spent, len(released), *r.program.Budget, r.Snapshot.Now)
	}
	for _, id := range released {
		e.paid.Set(id)
	}
	out.releasing = r.names(e.paid)
	if len(released) < len(e.queue) {
		r.holdRest(&out, e)
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
func (r *chooser) removals(ideal *bitset.BitSet) removals {
	out := removals{ideal: ideal, stay: r.Incumbents.Intersection(r.Scope), paid: &bitset.BitSet{}}
	since := map[fleet.ID]time.Time{}
	for id := range out.stay.Difference(ideal).EachSet() {
		name := r.Snapshot.Name(id)
		_, held := r.Past.Held[name]
		_, paid := slices.BinarySearch(r.Past.Releasing, name)
		switch {
		case paid:
			out.stay.Clear(id)
			out.paid.Set(id)
		case !r.Past.SameSpec && !held:
			out.stay.Clear(id)
		default:
			since[id] = ledger.Since(r.Past.Held, name, r.Snapshot.Now)
			out.queue = append(out.queue, id)
		}
	}
	r.sortForRemoval(out.queue, since)
	return out
}

// sortForRemoval sorts clusters in the order of their removal: held longest first, then those that no longer qualify, then by
// name.
func (r *chooser) sortForRemoval(in []fleet.ID, since map[fleet.ID]time.Time) {
	slices.SortFunc(in, func(a, b fleet.ID) int {
		_, qualifiesA := r.positionOf(a)
		_, qualifiesB := r.positionOf(b)
		return cmp.Or(since[a].Compare(since[b]), trueFirst(!qualifiesA, !qualifiesB),
			cmp.Compare(r.Snapshot.Name(a), r.Snapshot.Name(b)))
	})
}

// release finds how many of the queue are removed now, and which clusters are chosen then. A percentage is of the selected
// clusters: of those before or, if they are more, of those after. For those after, a cluster that would be chosen again at once
// is not removed, because that frees no place.
func (r *chooser) release(e removals, out *throttled) (released []fleet.ID) {
	room := func(selected *bitset.BitSet) int {
		return ledger.Allowance(*r.program.Budget, int(selected.Count()), out.spent, r.Snapshot.Now)
	}
	least := min(len(e.queue), room(r.percentageBase(out.spent)))
	out.chosen = r.chooseAfterRemoving(e, least)
	for most := min(len(e.queue), room(out.chosen)); least < most; {
		middle := (least + most + 1) / 2
		chosen := r.chooseAfterRemoving(e, middle)
		if middle > room(chosen) || slices.ContainsFunc(e.queue[:middle], chosen.Test) {
			most = middle - 1
		} else {
			least, out.chosen = middle, chosen
		}
	}
	return e.queue[:least]
}

// percentageBase returns the clusters selected before; a percentage of them may be removed. It returns no clusters if
// clusters were removed within the interval while others were held. The selected clusters may then be more than before,
// because newcomers came and the held clusters stayed. Counting them would release more clusters in the next run although
// nothing has changed.
func (r *chooser) percentageBase(spent []ledger.Removal) *bitset.BitSet {
	stayed := len(r.Past.Held)+len(r.Past.Releasing) > 0
	if r.Past.SameSpec && stayed && ledger.CountActive(spent, *r.program.Budget, r.Snapshot.Now) > 0 {
		return r.Snapshot.EmptySet()
	}
	return r.Incumbents
}

// chooseAfterRemoving returns the chosen clusters when the first of the queue are removed.
func (r *chooser) chooseAfterRemoving(e removals, released int) *bitset.BitSet {
	if released == len(e.queue) {
		return e.ideal
	}
	return r.firstPass().pick(r.keptIncumbents(e, released), r.Snapshot.EmptySet())
}

// keptIncumbents returns the incumbents that stay when the first of the queue are removed. If that is more than are wanted, more
// of the queue are removed without the budget.
func (r *chooser) keptIncumbents(e removals, released int) *bitset.BitSet {
	out := e.stay.Clone()
	gone := max(released, int(out.Count())-r.wanted)
	for _, id := range e.queue[:min(gone, len(e.queue))] {
		out.Clear(id)
	}
	return out
}

// holdRest finds the chosen clusters that the next run would remove, and since when and until when each is held. A cluster that
// was charged to the budget and is chosen again starts at the end of the queue.
func (r *chooser) holdRest(out *throttled, e removals) {
	ideal := e.ideal
	if !equalSets(out.chosen, r.Incumbents) || !r.Past.SameSpec {
		ideal = r.stabilize(out.chosen, true)
	}
	out.since, out.until = map[fleet.ID]time.Time{}, map[fleet.ID]time.Time{}
	for id := range out.chosen.Difference(ideal).EachSet() {
		out.held = append(out.held, id)
		out.since[id] = ledger.Since(r.Past.Held, r.Snapshot.Name(id), r.Snapshot.Now)
		if e.paid.Test(id) {
			out.since[id] = ledger.RoundUp(r.Snapshot.Now)
		}
	}
	r.sortForRemoval(out.held, out.since)
	selected := int(out.chosen.Count())
	for i, at := range ledger.ReleaseTimes(*r.program.Budget, selected, len(out.held), out.spent, r.Snapshot.Now) {
		out.until[out.held[i]] = at
	}
}
