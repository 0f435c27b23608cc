package health

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// minSkewed is how many clusters must be skewed in the same direction before the clock of the manager counts as wrong.
const minSkewed = 2

// skew is the difference between the clocks of an agent and of the manager, as measured at the renewals of its lease.
type skew struct {
	// direction is -1 if the clock of the agent is more than a grace period behind, 1 if it is more than that ahead, else 0.
	direction int
	// since is when the direction last changed, and measured when it was last measured. Zero: never.
	since, measured time.Time
}

// direction returns the direction of a skew. difference is the time of this process minus the time in the renewed lease.
func direction(difference, grace time.Duration) int {
	switch {
	case difference > grace:
		return -1
	case difference < -grace:
		return 1
	default:
		return 0
	}
}

// measure records the skew at a renewal, and reports whether the direction changed.
func (s *skew) measure(renewTime, now time.Time, grace time.Duration) bool {
	found := direction(now.Sub(renewTime), grace)
	changed := found != s.direction
	if changed {
		s.since = now
	}
	s.direction, s.measured = found, now
	return changed
}

// measureClock measures the clock of an agent at a renewal.
func (h *healthCache) measureClock(name string, e *entry, renewTime, now time.Time) {
	changed := e.skew.measure(renewTime, now, e.grace)
	if changed || e.clockSynced == metav1.ConditionFalse {
		h.enqueue(name)
	}
	h.reviewIf(changed && h.managerClockSuspected != 0)
}

// clockStatus returns the new status of the condition ClockSynced, empty if it stays, and when to check again; zero: at the next
// change.
//
// A skew is reported only once most clusters were measured after it began. If the clock of the manager jumps, all clusters are
// skewed, but only the first to renew its lease has been measured.
func (h *healthCache) clockStatus(e *entry, now time.Time) (status metav1.ConditionStatus, lookAgain time.Time) {
	if !e.watched || e.deleting || h.managerClockSuspected != 0 {
		return "", time.Time{}
	}
	if e.skipClock || e.skew.direction == 0 {
		if e.clockSynced == metav1.ConditionFalse && (e.skipClock || !e.skew.measured.IsZero()) {
			return metav1.ConditionTrue, time.Time{}
		}
		return "", time.Time{}
	}
	if e.clockSynced == metav1.ConditionFalse {
		return "", time.Time{}
	}
	if due := e.skew.since.Add(e.grace / 2); now.Before(due) {
		return "", due
	}
	found := h.countSkewed(e.skew.direction, now, e.skew.since)
	switch {
	case found.recent*2 <= found.measured:
		return "", now.Add(e.grace / 2)
	case found.exceeds():
		h.managerClockSuspected = e.skew.direction
		h.enqueue(fleetRequest)
		return "", time.Time{}
	default:
		return metav1.ConditionFalse, time.Time{}
	}
}

// skewCount counts live clusters: with a measured clock, with a recently measured clock, and with a recently measured clock that is
// skewed in one direction.
type skewCount struct{ measured, recent, sameDirection int }

// exceeds reports whether so many clusters are skewed in one direction that the clock of the manager is probably wrong.
func (c skewCount) exceeds() bool {
	return c.sameDirection >= minSkewed && c.sameDirection*2 > c.recent
}

func (h *healthCache) countSkewed(direction int, now, since time.Time) skewCount {
	var out skewCount
	for _, e := range h.clusters {
		if !e.watched || e.deleting || e.skew.measured.IsZero() || !now.Before(e.expiry(h.silenceFrom)) {
			continue
		}
		out.measured++
		if e.skew.measured.Before(since) {
			continue
		}
		out.recent++
		if e.skew.direction == direction {
			out.sameDirection++
		}
	}
	return out
}

// reviewClock returns the direction in which most clusters are skewed, and the counts. It returns 0 once no more than half of them are
// skewed in that direction. The skew of the others is then measured anew before it is reported.
func (h *healthCache) reviewClock(now time.Time) (direction int, found skewCount) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.managerClockSuspected == 0 {
		return 0, skewCount{}
	}
	found = h.countSkewed(h.managerClockSuspected, now, time.Time{})
	if found.exceeds() {
		return h.managerClockSuspected, found
	}
	h.managerClockSuspected = 0
	for name, e := range h.clusters {
		if e.skew.direction != 0 {
			e.skew.since = now
		}
		if e.skew.direction != 0 || e.clockSynced == metav1.ConditionFalse {
			h.enqueue(name)
		}
	}
	return 0, found
}
