// Package ledger owns the memory of a placement between two decisions, and the arithmetic of its time windows: how many
// clusters were removed lately, which clusters the disruption policy holds, and which wait to take over. It does not
// decide which clusters are removed or held, and it does not store the ledger.
//
// Stored instants are rounded up to a whole second, the precision of a stored instant. So no window ends early.
package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-project/berth/engine/program"
)

// Ledger is the memory of a placement. The zero Ledger is empty.
type Ledger struct {
	// SameSpec is set if the last decision was made for the same spec.
	SameSpec bool
	// Removals is what was dropped, as far as it may still count. A Spend without an instant counts as made now.
	Removals []Removal
	// Releasing names the clusters that are being removed and are already counted, sorted.
	Releasing []string
	// Held names the selected clusters that would be removed, and Waiting the clusters of earlier tiers that are not
	// selected, each with the instant from which that is so.
	Held, Waiting map[string]time.Time
}

// Removal is a number of clusters that were dropped at one instant.
type Removal struct {
	At    time.Time
	Count int
}

// maxRemovals is how many spends are remembered. Where there are more, the two oldest count as one that was made at the later
// instant, so that a window is never too short.
const maxRemovals = 64

// RoundUp returns an instant as it can be stored: rounded up to a whole second.
func RoundUp(now time.Time) time.Time {
	if whole := now.Truncate(time.Second); whole.Before(now) {
		return whole.Add(time.Second)
	}
	return now.Truncate(time.Second)
}

// Since returns the instant from which something is true of a cluster, or the rounded now if it is unknown.
func Since(known map[string]time.Time, cluster string, now time.Time) time.Time {
	if at, ok := known[cluster]; ok {
		return at
	}
	return RoundUp(now)
}

// WithTimes returns spends with their instants, oldest first. What counts nothing is left out.
func WithTimes(spent []Removal, now time.Time) []Removal {
	out := make([]Removal, 0, len(spent))
	for _, s := range spent {
		if s.At.IsZero() {
			s.At = RoundUp(now)
		}
		if s.Count > 0 {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, Removal.compare)
	return out
}

func (s Removal) compare(other Removal) int {
	return cmp.Or(s.At.Compare(other.At), cmp.Compare(s.Count, other.Count))
}

// Allowance returns how many clusters a budget allows to be removed now, besides those that were removed within its
// interval.
func Allowance(budget program.Budget, selected int, spent []Removal, now time.Time) int {
	return max(0, budget.Allows(selected)-CountActive(spent, budget, now))
}

// CountActive returns how many clusters were removed within the interval of a budget.
func CountActive(spent []Removal, budget program.Budget, now time.Time) int {
	return totalCount(activeRemovals(spent, budget, now))
}

// RecordRemovals returns spends with a number of clusters that are dropped now, as one with what was dropped at this instant before, and
// without those that no longer count.
func RecordRemovals(spent []Removal, count int, budget program.Budget, now time.Time) []Removal {
	paid := Removal{RoundUp(now), count}
	out := slices.DeleteFunc(activeRemovals(spent, budget, now), func(s Removal) bool {
		if s.At.Equal(paid.At) {
			paid.Count += s.Count
			return true
		}
		return false
	})
	out = append(out, paid)
	slices.SortStableFunc(out, Removal.compare)
	for len(out) > maxRemovals {
		out[1].Count += out[0].Count
		out = out[1:]
	}
	return out
}

// Redate returns spends with a number of clusters dated now that were paid for before and leave only now: a crash came
// between. They are taken off the newest spends.
func Redate(spent []Removal, count int, budget program.Budget, now time.Time) []Removal {
	out := WithTimes(spent, now)
	if count == 0 {
		return out
	}
	left := count
	for i := len(out) - 1; i >= 0; i-- {
		paid := min(left, out[i].Count)
		out[i].Count -= paid
		left -= paid
	}
	return RecordRemovals(out, count, budget, now)
}

// activeRemovals returns the spends that still count, oldest first.
func activeRemovals(spent []Removal, budget program.Budget, now time.Time) []Removal {
	return slices.DeleteFunc(WithTimes(spent, now), func(s Removal) bool { return !now.Before(s.At.Add(budget.Interval)) })
}

func totalCount(spent []Removal) int {
	out := 0
	for _, s := range spent {
		out += s.Count
	}
	return out
}

// ReleaseTimes returns when a budget lets so many held clusters go, one after the other, if nothing changes: each takes the
// first place that is free and leaves it to the next after the interval. None is free while they are held: where a
// percentage seems to have one, it is one of a selection that they make larger. The instants are zero where the budget lets
// nobody go.
func ReleaseTimes(budget program.Budget, selected, held int, spent []Removal, now time.Time) []time.Time {
	out := make([]time.Time, held)
	places := budget.Allows(selected)
	if places < 1 {
		return out
	}
	busy := activeRemovals(spent, budget, now)
	for i := range busy {
		busy[i].At = busy[i].At.Add(budget.Interval)
	}
	at, taken := now, totalCount(busy)
	if taken > 0 {
		places = min(places, taken)
	}
	for i := range out {
		for taken >= places {
			at, taken = later(at, busy[0].At), taken-busy[0].Count
			busy = busy[1:]
		}
		out[i] = at
		busy = insertBusy(busy, at.Add(budget.Interval))
		taken++
	}
	return out
}

// insertBusy adds a place that is busy until an instant to those that are, by that instant.
func insertBusy(busy []Removal, until time.Time) []Removal {
	i := len(busy)
	for i > 0 && busy[i-1].At.After(until) {
		i--
	}
	if i > 0 && busy[i-1].At.Equal(until) {
		busy[i-1].Count++
		return busy
	}
	return slices.Insert(busy, i, Removal{until, 1})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
