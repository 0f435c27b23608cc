package live

import (
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
)

// Finish ends the attempt that Gather began. If another client changed the status of the placement or one of its slices
// meanwhile, the placement is enqueued again. After a failed attempt the caller retries.
func (s *Stored) Finish(key fleet.Key, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, known := s.placements[key]
	if !known || !p.initialized {
		s.resetWrites(key) // it was deleted or disabled while its plan was applied
	}
	s.publishDecisions(key)
	if !known {
		return
	}
	p.inProgress = false
	if !p.initialized || failed {
		return
	}
	if cause, changed := s.externalChange(key, p); changed {
		s.enqueue(key, cause)
	}
}

// externalChange returns whether another client changed anything of a placement, and the cause to report.
func (s *Stored) externalChange(key fleet.Key, p *placementState) (what explain.Cause, ok bool) {
	what, ok = causeFor(kindPlacement, key, changedExternally), p.changedExternally()
	for name := range s.slicesOf[key] {
		if slice := s.slices[name]; slice.own.Changed(slice.cached) && (what.Kind == kindPlacement || name.Name < what.Name) {
			what, ok = causeFor(kindSlice, name, changedExternally), true
		}
	}
	return what, ok
}
