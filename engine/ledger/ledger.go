// Package ledger owns what a placement remembers between two runs, and the arithmetic of its windows: how many clusters
// were dropped lately, whom the disruption policy holds, and which clusters wait to take over. It refuses to know who
// is to be dropped or held, and where a ledger is stored.
//
// Instants are values; those that are to be stored are rounded up to a whole second, since that is what a stored
// instant can say. So no window ever ends early.
package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-project/berth/engine/program"
)

// Ledger is what a placement remembers. The zero Ledger remembers nothing.
type Ledger struct {
	// SameSpec says that the last decision was made for this very spec.
	SameSpec bool
	// Spent is what was dropped, as far as it may still count. A Spend without an instant counts as made now.
	Spent []Spend
	// Releasing names the clusters that are being dropped and are paid for, sorted.
	Releasing []string
	// Held names the selected clusters that would be dropped, and Waiting those of earlier tiers that are not selected,
	// each with the instant from which that is so.
	Held, Waiting map[string]time.Time
}

// Spend is a number of clusters that were dropped at one instant.
type Spend struct {
	At    time.Time
	Count int
}

// most is how many spends are remembered. Where there are more, the two oldest count as one that was made at the later
// instant, so that a window is never too short.
const most = 64

// Stamp returns an instant as it can be stored: rounded up to a whole second.
func Stamp(now time.Time) time.Time {
	if whole := now.Truncate(time.Second); whole.Before(now) {
		return whole.Add(time.Second)
	}
	return now.Truncate(time.Second)
}

// Since returns the instant from which something is true of a cluster, or the stamp of now where nobody knows.
func Since(known map[string]time.Time, cluster string, now time.Time) time.Time {
	if at, ok := known[cluster]; ok {
		return at
	}
	return Stamp(now)
}

// Dated returns spends with their instants, oldest first. What counts nothing is left out.
func Dated(spent []Spend, now time.Time) []Spend {
	out := make([]Spend, 0, len(spent))
	for _, s := range spent {
		if s.At.IsZero() {
			s.At = Stamp(now)
		}
		if s.Count > 0 {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, Spend.compare)
	return out
}

func (s Spend) compare(other Spend) int {
	return cmp.Or(s.At.Compare(other.At), cmp.Compare(s.Count, other.Count))
}

// Room returns how many clusters a budget lets go now, beside those that were dropped within its interval.
func Room(budget program.Budget, selected int, spent []Spend, now time.Time) int {
	return max(0, budget.Allows(selected)-Active(spent, budget, now))
}

// Active returns how many clusters were dropped within the interval of a budget.
func Active(spent []Spend, budget program.Budget, now time.Time) int {
	return total(active(spent, budget, now))
}

// Pay returns spends with a number of clusters that are dropped now, as one with what was dropped at this instant before, and
// without those that no longer count.
func Pay(spent []Spend, count int, budget program.Budget, now time.Time) []Spend {
	paid := Spend{Stamp(now), count}
	out := slices.DeleteFunc(active(spent, budget, now), func(s Spend) bool {
		if s.At.Equal(paid.At) {
			paid.Count += s.Count
			return true
		}
		return false
	})
	out = append(out, paid)
	slices.SortStableFunc(out, Spend.compare)
	for len(out) > most {
		out[1].Count += out[0].Count
		out = out[1:]
	}
	return out
}

// Redate returns spends with a number of clusters dated now that were paid for before and leave only now: a crash came
// between. They are taken off the newest spends.
func Redate(spent []Spend, count int, budget program.Budget, now time.Time) []Spend {
	out := Dated(spent, now)
	if count == 0 {
		return out
	}
	left := count
	for i := len(out) - 1; i >= 0; i-- {
		paid := min(left, out[i].Count)
		out[i].Count -= paid
		left -= paid
	}
	return Pay(out, count, budget, now)
}

// active returns the spends that still count, oldest first.
func active(spent []Spend, budget program.Budget, now time.Time) []Spend {
	return slices.DeleteFunc(Dated(spent, now), func(s Spend) bool { return !now.Before(s.At.Add(budget.Interval)) })
}

func total(spent []Spend) int {
	out := 0
	for _, s := range spent {
		out += s.Count
	}
	return out
}

// Releases returns when a budget lets so many held clusters go, one after the other, if nothing changes: each takes the
// first place that is free and leaves it to the next after the interval. None is free while they are held: where a
// percentage seems to have one, it is one of a selection that they make larger. The instants are zero where the budget lets
// nobody go.
func Releases(budget program.Budget, selected, held int, spent []Spend, now time.Time) []time.Time {
	out := make([]time.Time, held)
	places := budget.Allows(selected)
	if places < 1 {
		return out
	}
	busy := active(spent, budget, now)
	for i := range busy {
		busy[i].At = busy[i].At.Add(budget.Interval)
	}
	at, taken := now, total(busy)
	if taken > 0 {
		places = min(places, taken)
	}
	for i := range out {
		for taken >= places {
			at, taken = later(at, busy[0].At), taken-busy[0].Count
			busy = busy[1:]
		}
		out[i] = at
		busy = inserted(busy, at.Add(budget.Interval))
		taken++
	}
	return out
}

// inserted adds a place that is busy until an instant to those that are, by that instant.
func inserted(busy []Spend, until time.Time) []Spend {
	i := len(busy)
	for i > 0 && busy[i-1].At.After(until) {
		i--
	}
	if i > 0 && busy[i-1].At.Equal(until) {
		busy[i-1].Count++
		return busy
	}
	return slices.Insert(busy, i, Spend{until, 1})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
