package health

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// minSkewed is how few clusters that are skewed alike are never taken for a wrong clock of the manager.
const minSkewed = 2

// skew is how the clock of an agent differs from the clock of the manager, as far as the renewals of its lease show it.
type skew struct {
	// direction is -1 where the clock of the agent is more than a grace behind, 1 where it is more than a grace ahead, else 0.
	direction int
	// since is when the direction became what it is, and measured when it was last measured. Zero: never.
	since, measured time.Time
}

// direction returns the direction of a skew: the difference between now and the time that the agent wrote just now.
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

// measure records the skew that a renewal shows, and tells whether the direction has changed.
func (s *skew) measure(renewTime, now time.Time, grace time.Duration) bool {
	found := direction(now.Sub(renewTime), grace)
	changed := found != s.direction
	if changed {
		s.since = now
	}
	s.direction, s.measured = found, now
	return changed
}

// measureClock measures the clock of the agent that renewed a lease just now.
func (h *healthCache) measureClock(name string, e *entry, renewTime, now time.Time) {
	changed := e.skew.measure(renewTime, now, e.grace)
	if changed || e.clockSynced == metav1.ConditionFalse {
		h.wake(name)
	}
	h.reviewIf(changed && h.managerClockSuspected != 0)
}

// clockStatus returns the status that the condition ClockSynced of a cluster is to get, empty where it stays as it is, and
// when to look again; zero: not before the next change.
//
// A skew is reported only once most clusters were measured after it began: where the clock of the manager jumps, the first
// cluster that renews its lease is not the only one that is skewed, but the first that is seen to be.
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
		h.wake(fleetRequest)
		return "", time.Time{}
	default:
		return metav1.ConditionFalse, time.Time{}
	}
}

// skewCount counts live clusters: those whose clock was ever measured, those of them that were measured recently, and
// those of the latter that are skewed alike.
type skewCount struct{ measured, recent, sameDirection int }

// exceeds tells whether so many are skewed alike that it is the clock of the manager that is wrong.
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

// reviewClock ends the suspicion of the manager's clock where no more than half of the clusters are skewed alike. Those that
// still are get a new time to be measured in. It returns the direction in which clusters are skewed, and how many; 0: the
// clock is not suspected.
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
			h.wake(name)
		}
	}
	return 0, found
}
