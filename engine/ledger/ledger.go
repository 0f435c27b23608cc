// Package ledger owns the state of a placement between two decisions, and the arithmetic of its time windows. The state
// is the number of recently removed clusters, the clusters that the disruption policy holds, and the clusters that wait
// to take over. It does not decide which clusters are removed or held, and it does not store the ledger.
//
// Stored instants are rounded up to a whole second, the precision of a stored instant. So no window ends early.
package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-project/berth/engine/program"
)

// Ledger is the state of a placement between two decisions. The zero Ledger is empty.
type Ledger struct {
	// SameSpec is set if the last decision was made for the same spec.
	SameSpec bool
	// EditHeld is set if the last decision held the last edit, since it left the placement without clusters.
	EditHeld bool
	// Confirmed is set if a user has confirmed that the spec may leave the placement without clusters.
	Confirmed bool
	// UnknownReferences is what has been stored of what the same spec names and no cluster in reach has; empty for nothing.
	UnknownReferences string
	// ReferenceHeld is set if the last decision held the edit for that.
	ReferenceHeld bool
	// ReferencesConfirmed is set if a user has confirmed that.
	ReferencesConfirmed bool
	// Failing has the incumbents on which an expression failed in the last decision because a claim or score is missing, each
	// with the instant at which that began. It is not stored. FailingReleased is until when that must have begun for them to
	// leave at once.
	Failing         map[string]time.Time
	FailingReleased time.Time
	// Braked has the incumbents that a brake keeps although the run would remove them, each with the reason. It is not stored.
	// BrakedBefore has those that a brake has kept since before the last edit of the placement.
	Braked, BrakedBefore map[string]string
	// Removals are the removals that may still count. A Removal without an instant counts as made now.
	Removals []Removal
	// Releasing names the clusters that are being removed and are already counted, sorted.
	Releasing []string
	// Held names the selected clusters that would be removed, and Waiting the clusters of earlier tiers that are not
	// selected. Each has the instant at which that began.
	Held, Waiting map[string]time.Time
}

// Removal is a number of clusters that were removed at one instant.
type Removal struct {
	At    time.Time
	Count int
}

// maxRemovals is how many removals a ledger stores. Above it, the two oldest are merged at the later of their instants,
// so that a window is never too short.
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

// WithTimes returns removals with their instants, oldest first, without those that count no cluster.
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

func (r Removal) compare(other Removal) int {
	return cmp.Or(r.At.Compare(other.At), cmp.Compare(r.Count, other.Count))
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

// RecordRemovals returns removals with a number of clusters that are removed now, and without those that no longer count.
// Removals of the same instant are merged.
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

// Redate returns removals in which a number of clusters is dated now. These clusters were recorded before a crash and
// leave only now. They are subtracted from the newest removals.
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

// activeRemovals returns the removals that still count, oldest first.
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

// ReleaseTimes returns when a budget releases so many held clusters, one after the other, if nothing changes. Each takes
// the first free place of the budget, and the next cluster can take that place after the interval. Now no place is free:
// if a percentage seems to leave a place, the held clusters themselves raised it. The instants are zero if the budget
// allows no removals.
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

// insertBusy adds a busy place to the others, ordered by the instant at which they become free.
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
