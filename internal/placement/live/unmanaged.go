package live

import (
	"time"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// Unmanaged holds slices that Berth wrote and does not decide now: their placement is disabled, being deleted or gone.
type Unmanaged struct {
	Snapshot *fleet.Snapshot
	Stored   plan.Stored
}

// Unmanaged returns the slices of a placement that Berth does not decide. Ok is false if Berth decides the placement or
// wrote none of its slices.
func (s *Stored) Unmanaged(key fleet.Key, now time.Time) (u Unmanaged, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.unmanaged[key]; !ok || !s.ready {
		return Unmanaged{}, false
	}
	snapshot, _ := s.fleet.Snapshot(now)
	u = Unmanaged{snapshot, plan.Stored{Slices: s.currentSlices(key), FormerUID: s.former[key]}}
	if p, known := s.placements[key]; known {
		u.Stored.Placement = p.current()
	}
	return u, true
}
