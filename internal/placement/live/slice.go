package live

import (
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/kube/assumed"
	"github.com/berth-project/berth/internal/source"
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
func (s *State) SetSlice(object *clusterv1beta1.PlacementDecision) {
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

// recognizeWrite recognizes a write of this process whose response was lost.
func (s *State) recognizeWrite(name fleet.Key, slice *sliceState) {
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
func (s *State) DeleteSlice(object *clusterv1beta1.PlacementDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := sliceKey(object)
	slice, known := s.slices[name]
	if !known {
		return
	}
	slice.own.ObserveDelete(object.UID)
	slice.cached = nil
	s.sliceObserved(name, slice)
	s.deleteIfGone(name, slice)
}

// sliceObserved handles a change of a slice in the informer. For a placement that is not decided yet, the informer counts.
// Any other placement is enqueued where another client made the change.
func (s *State) sliceObserved(name fleet.Key, slice *sliceState) {
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

// BeforeWrite records the content of a slice before the request that stores it is sent.
func (s *State) BeforeWrite(object *clusterv1beta1.PlacementDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if owner, _, named := plan.Owner(object); named {
		if p, known := s.placements[owner]; known && p.initialized {
			p.attempts.add(sliceKey(object), plan.ReadSlice(object))
		}
	}
}

// AfterWrite records a slice as the API server returned it.
func (s *State) AfterWrite(object *clusterv1beta1.PlacementDecision) {
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

// AfterApply records that what a plan found and did not write is as desired: stored objects, and slices that do not exist.
func (s *State) AfterApply(found plan.Stored, written plan.Plan) {
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
	if !reported {
		p.own.Accept(found.Placement)
	}
}

// AfterDelete records that this process deleted a slice.
func (s *State) AfterDelete(object *clusterv1beta1.PlacementDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := sliceKey(object)
	if slice, known := s.slices[name]; known {
		slice.own.Delete(object.UID)
		s.deleteIfGone(name, slice)
	}
}

// publishDecisions puts the decisions of a placement into the snapshot, once the state is ready.
func (s *State) publishDecisions(key fleet.Key) {
	if s.ready && s.syncDecisions(key) {
		s.publish()
	}
}

// syncDecisions edits the decisions of a placement. They are the decisions that this process stored, or the decisions in
// the informer if this process has not decided the placement. It returns whether they changed.
func (s *State) syncDecisions(key fleet.Key) bool {
	s.updateUnmanaged(key)
	s.updateFormer(key)
	p, known := s.placements[key]
	decidedHere := known && p.initialized
	var decided []fleet.Slice
	for name := range s.slicesOf[key] {
		object := s.slices[name].cached
		if decidedHere {
			object = s.slices[name].own.Get()
		}
		if object != nil {
			decided = append(decided, plan.ReadSlice(object))
		}
	}
	return s.nextEdit().SetSlices(key, decided)
}

// assignOwner determines the placement that a slice belongs to.
func (s *State) assignOwner(name fleet.Key, slice *sliceState) {
	object := slice.cached
	if object == nil {
		object = slice.own.Get()
	}
	before := slice.owner
	slice.owner = source.OwnerOf(object, func(key fleet.Key) bool { _, ok := s.placements[key]; return ok })
	if before != slice.owner && before != (fleet.Key{}) {
		removeMember(s.slicesOf, before, name)
		s.publishDecisions(before)
	}
	addMember(s.slicesOf, slice.owner, name)
}

// reassignOwners determines the owners of all slices that mention a placement after it is created or deleted.
func (s *State) reassignOwners(key fleet.Key) {
	for name := range s.mentionedBy[key] {
		slice := s.slices[name]
		before := slice.owner
		if s.assignOwner(name, slice); slice.owner != before {
			s.sliceObserved(name, slice)
		}
	}
}

// indexMentions records which placements a slice mentions.
func (s *State) indexMentions(name fleet.Key, slice *sliceState, object *clusterv1beta1.PlacementDecision) {
	for _, key := range slice.mentions {
		removeMember(s.mentionedBy, key, name)
	}
	slice.mentions = mentionedPlacements(object)
	for _, key := range slice.mentions {
		addMember(s.mentionedBy, key, name)
	}
}

// mentionedPlacements returns the placements that a slice names, in its name or in its label.
func mentionedPlacements(object *clusterv1beta1.PlacementDecision) []fleet.Key {
	var out []fleet.Key
	if key, _, ok := plan.Owner(object); ok {
		out = append(out, key)
	}
	if label := object.Labels[clusterv1beta1.PlacementLabel]; label != "" {
		out = append(out, fleet.Key{Namespace: object.Namespace, Name: label})
	}
	return out
}

// deleteIfGone deletes the state of a slice that is neither stored nor to be restored.
func (s *State) deleteIfGone(name fleet.Key, slice *sliceState) {
	if slice.cached != nil || slice.own.Get() != nil {
		return
	}
	delete(s.slices, name)
	removeMember(s.slicesOf, slice.owner, name)
	for _, key := range slice.mentions {
		removeMember(s.mentionedBy, key, name)
	}
}

func sliceKey(object *clusterv1beta1.PlacementDecision) fleet.Key {
	return fleet.Key{Namespace: object.Namespace, Name: object.Name}
}
