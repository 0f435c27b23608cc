package selection

import (
	"cmp"
	"slices"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
)

// pace is what becomes of the ideal choice once the disruption policy has had its say.
type pace struct {
	chosen *bitset.BitSet
	// held are those of the chosen that would be dropped, in the order in which they will be.
	held []fleet.ID
	// since is the instant from which each of them is held, until that at which it is let go; zero for never.
	since, until map[fleet.ID]time.Time
	// spent and releasing are what is to be remembered.
	spent     []ledger.Spend
	releasing []string
}

// memo returns since when each cluster is held, by name.
func (p *pace) memo(s *fleet.Snapshot) map[string]time.Time {
	out := make(map[string]time.Time, len(p.held))
	for _, id := range p.held {
		out[s.Name(id)] = p.since[id]
	}
	return out
}

// pace lets as many incumbents go as the budget has room for, and keeps the others.
func (r *race) pace(ideal *bitset.BitSet) pace {
	if r.program.Budget == nil {
		return pace{chosen: ideal}
	}
	e := r.exodus(ideal)
	late := int(e.paid.Count())
	out := pace{chosen: ideal, spent: ledger.Redate(r.Past.Spent, late, *r.program.Budget, r.Snapshot.Now)}
	released := r.release(e, &out)
	if len(released) > 0 {
		out.spent = ledger.Pay(out.spent, len(released), *r.program.Budget, r.Snapshot.Now)
	}
	for _, id := range released {
		e.paid.Set(id)
	}
	out.releasing = r.names(e.paid)
	if len(released) < len(e.queue) {
		r.hold(&out, e)
	}
	return out
}

// exodus is the incumbents that the ideal choice is without.
type exodus struct {
	ideal *bitset.BitSet
	// stay are the incumbents that neither leave for free nor are paid for.
	stay *bitset.BitSet
	// paid are those that were paid for before and are still there, queue those that the budget is asked about, first the
	// one to go first.
	paid  *bitset.BitSet
	queue []fleet.ID
}

// exodus sorts out who leaves for free: clusters that the placement may not choose from any more and, after a change of
// the spec, everybody who was not held before.
func (r *race) exodus(ideal *bitset.BitSet) exodus {
	out := exodus{ideal: ideal, stay: r.Incumbents.Intersection(r.Scope), paid: &bitset.BitSet{}}
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
	r.line(out.queue, since)
	return out
}

// line puts clusters in the order in which they leave: first held first, of those the ones that do not qualify any more,
// then by name.
func (r *race) line(in []fleet.ID, since map[fleet.ID]time.Time) {
	slices.SortFunc(in, func(a, b fleet.ID) int {
		_, qualifiesA := r.among(a)
		_, qualifiesB := r.among(b)
		return cmp.Or(since[a].Compare(since[b]), first(!qualifiesA, !qualifiesB),
			cmp.Compare(r.Snapshot.Name(a), r.Snapshot.Name(b)))
	})
}

// release finds out who of the queue leaves now, and who is chosen then. A percentage is one of those selected in the
// end: what they allow more than those selected before would else be used up by the next run.
func (r *race) release(e exodus, out *pace) (released []fleet.ID) {
	budget, selected := *r.program.Budget, int(r.Incumbents.Count())
	for range maxRounds {
		room := ledger.Room(budget, selected, out.spent, r.Snapshot.Now)
		released = e.queue[:min(room, len(e.queue))]
		if len(released) == len(e.queue) {
			out.chosen = e.ideal
			return released
		}
		out.chosen = r.first().pick(r.kept(e, len(released)), &bitset.BitSet{})
		now := int(out.chosen.Count())
		if budget.Allows(now) <= budget.Allows(selected) {
			return released
		}
		selected = now
	}
	return released
}

// kept returns the incumbents that stay when the first of the queue leave. Where fewer clusters are wanted than would
// stay, more of the queue leave for free.
func (r *race) kept(e exodus, released int) *bitset.BitSet {
	out := e.stay.Clone()
	for i, id := range e.queue {
		if i < released || int(out.Count()) > r.seats {
			out.Clear(id)
		}
	}
	return out
}

// hold finds out who of the chosen the next run would drop, since when each is held and until when. Whoever was paid for
// and is chosen again all the same, since it stands beside those that are held, has had its turn.
func (r *race) hold(out *pace, e exodus) {
	ideal := e.ideal
	if !same(out.chosen, r.Incumbents) || !r.Past.SameSpec {
		ideal = r.settle(out.chosen, true)
	}
	out.since, out.until = map[fleet.ID]time.Time{}, map[fleet.ID]time.Time{}
	for id := range out.chosen.Difference(ideal).EachSet() {
		out.held = append(out.held, id)
		out.since[id] = ledger.Since(r.Past.Held, r.Snapshot.Name(id), r.Snapshot.Now)
		if e.paid.Test(id) {
			out.since[id] = ledger.Stamp(r.Snapshot.Now)
		}
	}
	r.line(out.held, out.since)
	selected := int(out.chosen.Count())
	for i, at := range ledger.Releases(*r.program.Budget, selected, len(out.held), out.spent, r.Snapshot.Now) {
		out.until[out.held[i]] = at
	}
}
