package live

import (
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/kube/assumed"
)

// BeforeWrite records the content of a slice before the request that stores it is sent.
func (s *Stored) BeforeWrite(object *clusterv1beta1.PlacementDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if owner, _, named := plan.Owner(object); named {
		if p, known := s.placements[owner]; known && p.initialized {
			p.attempts.add(sliceKey(object), plan.ReadSlice(object))
		}
	}
}

// AfterWrite records a slice as the API server returned it.
func (s *Stored) AfterWrite(object *clusterv1beta1.PlacementDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := sliceKey(object)
	slice, known := s.slices[name]
	if !known {
		slice = &sliceState{}
		s.slices[name] = slice
	}
	slice.own.Set(object, slice.cached, s.clock.Now())
	if !known {
		s.indexMentions(name, slice, object)
		s.assignOwner(name, slice)
	}
	if p, known := s.placements[slice.owner]; known {
		delete(p.attempts, name)
	}
}

// AfterDelete records that this process deleted a slice.
func (s *Stored) AfterDelete(object *clusterv1beta1.PlacementDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := sliceKey(object)
	if slice, known := s.slices[name]; known {
		slice.own.Delete(object.UID)
		s.deleteIfGone(name, slice)
	}
}

// AfterStatusWrite records a placement as the API server returned it after a status update.
func (s *Stored) AfterStatusWrite(object *clusterv1beta1.Placement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, known := s.placements[placementKey(object)]; known && p.cached.UID == object.UID {
		p.own.Set(object, p.cached, s.clock.Now())
	}
}

// AfterApply records that what a plan found and did not write is as desired: stored objects, and slices that do not exist.
func (s *Stored) AfterApply(found plan.Stored, written plan.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := placementKey(found.Placement)
	p, known := s.placements[key]
	if !known || p.cached.UID != found.Placement.UID {
		return
	}
	reported, settled := false, map[fleet.Key]bool{}
	for _, write := range written.Writes {
		if write.Slice != nil {
			settled[sliceKey(write.Slice)] = true
		} else {
			reported = true
		}
	}
	for _, object := range found.Slices {
		name := sliceKey(object)
		if slice, known := s.slices[name]; known && !settled[name] && (slice.own.Get() == nil || !assumed.Newer(slice.own.Get(), object)) {
			slice.own.Accept(object)
		}
		settled[name] = true
	}
	for name := range s.slicesOf[key] {
		if slice := s.slices[name]; !settled[name] {
			slice.own.Reset() // another client deleted it, and the plan does not restore it
			s.deleteIfGone(name, slice)
		}
	}
	clear(p.attempts)
	p.inherited, p.anew = nil, false
	if !reported {
		p.own.Accept(found.Placement)
	}
}
