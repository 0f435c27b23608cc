package selection

import (
	"cmp"
	"slices"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
)

// throttled is what becomes of the ideal choice once the disruption policy has had its say.
type throttled struct {
	chosen *bitset.BitSet
	// held are those of the chosen that would be dropped, in the order in which they will be.
	held []fleet.ID
	// since is the instant from which each of them is held, until that at which it is let go; zero for never.
	since, until map[fleet.ID]time.Time
	// spent and releasing are what is to be remembered.
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

// throttle lets as many incumbents go as the budget has room for, and keeps the others.
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

// removals is the incumbents that the ideal choice is without.
type removals struct {
	ideal *bitset.BitSet
	// stay are the incumbents that neither leave for free nor are paid for.
	stay *bitset.BitSet
	// paid are those that were paid for before and are still there, queue those that the budget is asked about, first the
	// one to go first.
	paid  *bitset.BitSet
	queue []fleet.ID
}

// removals sorts out who leaves for free: clusters that the placement may not choose from any more and, after a change of
// the spec, everybody who was not held before.
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

// sortForRemoval puts clusters in the order in which they leave: first held first, of those the ones that do not qualify any more,
// then by name.
func (r *chooser) sortForRemoval(in []fleet.ID, since map[fleet.ID]time.Time) {
	slices.SortFunc(in, func(a, b fleet.ID) int {
		_, qualifiesA := r.positionOf(a)
		_, qualifiesB := r.positionOf(b)
		return cmp.Or(since[a].Compare(since[b]), trueFirst(!qualifiesA, !qualifiesB),
			cmp.Compare(r.Snapshot.Name(a), r.Snapshot.Name(b)))
	})
}

// release finds out who of the queue leaves now, and who is chosen then. A percentage is one of the clusters that are
// selected: before, or in the end where those are more, never of a choice that is not made. For the sake of those in the
// end nobody leaves who would be chosen again at once: that frees no place.
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

// percentageBase returns who was selected before, as a percentage counts them: nobody where that cannot be told. Where some were dropped within the
// interval while others were held, or are about to be, the selected may be more than they were: newcomers came and the held
// stayed. If these counted, the next run would release more though nothing has changed.
func (r *chooser) percentageBase(spent []ledger.Removal) *bitset.BitSet {
	stayed := len(r.Past.Held)+len(r.Past.Releasing) > 0
	if r.Past.SameSpec && stayed && ledger.CountActive(spent, *r.program.Budget, r.Snapshot.Now) > 0 {
		return r.Snapshot.EmptySet()
	}
	return r.Incumbents
}

// chooseAfterRemoving returns who is chosen when the first of the queue leave.
func (r *chooser) chooseAfterRemoving(e removals, released int) *bitset.BitSet {
	if released == len(e.queue) {
		return e.ideal
	}
	return r.firstPass().pick(r.keptIncumbents(e, released), r.Snapshot.EmptySet())
}

// keptIncumbents returns the incumbents that stay when the first of the queue leave. Where fewer clusters are wanted than would
// stay, more of the queue leave for free.
func (r *chooser) keptIncumbents(e removals, released int) *bitset.BitSet {
	out := e.stay.Clone()
	gone := max(released, int(out.Count())-r.wanted)
	for _, id := range e.queue[:min(gone, len(e.queue))] {
		out.Clear(id)
	}
	return out
}

// holdRest finds out who of the chosen the next run would drop, since when each is held and until when. Whoever was paid for
// and is chosen again all the same, since it stands beside those that are held, has had its turn.
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
