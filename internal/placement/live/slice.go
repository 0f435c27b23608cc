package live

import (
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/kube/assumed"
)

// sliceState is the state of one PlacementDecision.
type sliceState struct {
	// cached is the object in the informer; nil if the informer does not have it.
	cached *clusterv1beta1.PlacementDecision
	own    assumed.Write[*clusterv1beta1.PlacementDecision]
	owner  fleet.Key
	// mentions are the placements that the name or label of the slice names.
	mentions []fleet.Key
}

// SetSlice records a slice from the API server.
func (s *Stored) SetSlice(object *clusterv1beta1.PlacementDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := sliceKey(object)
	slice, known := s.slices[name]
	if !known {
		slice = &sliceState{}
		s.slices[name] = slice
	}
	slice.cached = object
	slice.own.Observe(object)
	s.indexMentions(name, slice, object)
	s.assignOwner(name, slice)
	s.recognizeWrite(name, slice)
	s.sliceObserved(name, slice)
}

// recognizeWrite recognizes a write of this process whose response was lost: the informer shows a slice that is newer than the last one
// whose response was received, and has a content that this process sent. From then on it counts as written by this process.
func (s *Stored) recognizeWrite(name fleet.Key, slice *sliceState) {
	p, known := s.placements[slice.owner]
	if !known || !slice.own.Changed(slice.cached) {
		return
	}
	if written := slice.own.Get(); written != nil && !assumed.Newer(slice.cached, written) {
		return
	}
	if p.attempts.has(name, plan.ReadSlice(slice.cached)) {
		slice.own.Accept(slice.cached)
		s.publishDecisions(slice.owner)
	}
}

// DeleteSlice records that a slice is deleted.
func (s *Stored) DeleteSlice(object *clusterv1beta1.PlacementDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := sliceKey(object)
	slice, known := s.slices[name]
	if !known {
		return
	}
	slice.own.ObserveDelete(object.UID)
	if p := s.placements[slice.owner]; p != nil && slice.cached != nil && s.ready && p.managed() && !p.initialized {
		p.dropped = addSlices(p.dropped, plan.ReadSlice(slice.cached))
	}
	slice.cached = nil
	s.sliceObserved(name, slice)
	s.deleteIfGone(name, slice)
}

// sliceObserved handles a change of a slice in the informer. For a placement that is not decided yet, the informer counts.
// Any other placement is enqueued where another client made the change.
func (s *Stored) sliceObserved(name fleet.Key, slice *sliceState) {
	p, known := s.placements[slice.owner]
	if !known || !p.initialized {
		_, before := s.unmanaged[slice.owner]
		s.publishDecisions(slice.owner)
		if _, after := s.unmanaged[slice.owner]; s.ready && (before || after) {
			s.enqueue(slice.owner, causeFor(kindSlice, name, changedExternally))
		}
		return
	}
	if !p.inProgress && slice.own.Changed(slice.cached) {
		s.enqueue(slice.owner, causeFor(kindSlice, name, changedExternally))
	}
}

// deleteIfGone deletes the state of a slice that is neither stored nor to be restored.
func (s *Stored) deleteIfGone(name fleet.Key, slice *sliceState) {
	if slice.cached != nil || slice.own.Get() != nil {
		return
	}
	delete(s.slices, name)
	removeMember(s.slicesOf, slice.owner, name)
	for _, key := range slice.mentions {
		removeMember(s.mentionedBy, key, name)
	}
}
