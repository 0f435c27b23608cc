package live

import (
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source"
)

// sliceState is the state of one PlacementDecision.
type sliceState struct {
	// cached is the object in the informer; nil if the informer does not have it.
	cached *clusterv1beta1.PlacementDecision
	own    ownWrite[*clusterv1beta1.PlacementDecision]
	owner  fleet.Key
	// mentions are the placements that the name or label of the slice names.
	mentions []fleet.Key
}

// SetSlice records a slice from the API server.
func (w *State) SetSlice(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := sliceKey(object)
	s, known := w.slices[name]
	if !known {
		s = &sliceState{}
		w.slices[name] = s
	}
	s.cached = object
	s.own.Observe(object)
	w.indexMentions(name, s, object)
	w.assignOwner(name, s)
	w.recognizeWrite(name, s)
	w.sliceObserved(name, s)
}

// recognizeWrite recognizes a write of this process whose response was lost.
func (w *State) recognizeWrite(name fleet.Key, s *sliceState) {
	p, known := w.placements[s.owner]
	if !known || !s.own.Changed(s.cached) {
		return
	}
	if written := s.own.Get(); written != nil && !newer(s.cached, written) {
		return
	}
	if p.attempts.has(name, plan.ReadSlice(s.cached)) {
		s.own.Accept(s.cached)
		w.publishDecisions(s.owner)
	}
}

// DeleteSlice records that a slice is deleted.
func (w *State) DeleteSlice(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := sliceKey(object)
	s, known := w.slices[name]
	if !known {
		return
	}
	s.own.ObserveDelete(object.UID)
	s.cached = nil
	w.sliceObserved(name, s)
	w.deleteIfGone(name, s)
}

// sliceObserved handles a change of a slice in the informer. For a placement that is not decided yet, the informer counts.
// Any other placement is enqueued where another client made the change.
func (w *State) sliceObserved(name fleet.Key, s *sliceState) {
	p, known := w.placements[s.owner]
	if !known || !p.initialized {
		_, before := w.unmanaged[s.owner]
		w.publishDecisions(s.owner)
		if _, after := w.unmanaged[s.owner]; w.ready && (before || after) {
			w.enqueue(s.owner, causeFor(kindSlice, name, changedExternally))
		}
		return
	}
	if !p.inProgress && s.own.Changed(s.cached) {
		w.enqueue(s.owner, causeFor(kindSlice, name, changedExternally))
	}
}

// BeforeWrite records the content of a slice before the request that stores it is sent.
func (w *State) BeforeWrite(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if owner, _, named := plan.Owner(object); named {
		if p, known := w.placements[owner]; known && p.initialized {
			p.attempts.add(sliceKey(object), plan.ReadSlice(object))
		}
	}
}

// AfterWrite records a slice as the API server returned it.
func (w *State) AfterWrite(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := sliceKey(object)
	s, known := w.slices[name]
	if !known {
		s = &sliceState{}
		w.slices[name] = s
	}
	s.own.Set(object, s.cached)
	if !known {
		w.indexMentions(name, s, object)
		w.assignOwner(name, s)
	}
	if p, known := w.placements[s.owner]; known {
		delete(p.attempts, name)
	}
}

// AfterApply records that what a plan found and did not write is as desired: stored objects, and slices that do not exist.
func (w *State) AfterApply(found plan.Stored, written plan.Plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := placementKey(found.Placement)
	p, known := w.placements[key]
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
		if s, known := w.slices[name]; known && !settled[name] && (s.own.Get() == nil || !newer(s.own.Get(), object)) {
			s.own.Accept(object)
		}
		settled[name] = true
	}
	for name := range w.slicesOf[key] {
		if s := w.slices[name]; !settled[name] {
			s.own.Reset() // another client deleted it, and the plan does not restore it
			w.deleteIfGone(name, s)
		}
	}
	clear(p.attempts)
	if !reported {
		p.own.Accept(found.Placement)
	}
}

// AfterDelete records that this process deleted a slice.
func (w *State) AfterDelete(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := sliceKey(object)
	if s, known := w.slices[name]; known {
		s.own.Delete(object.UID)
		w.deleteIfGone(name, s)
	}
}

// publishDecisions puts the decisions of a placement into the snapshot, once the state is ready.
func (w *State) publishDecisions(key fleet.Key) {
	if w.ready && w.syncDecisions(key) {
		w.publish()
	}
}

// syncDecisions edits the decisions of a placement. They are the decisions that this process stored, or the decisions in
// the informer if this process has not decided the placement. It returns whether they changed.
func (w *State) syncDecisions(key fleet.Key) bool {
	w.updateUnmanaged(key)
	w.updateFormer(key)
	p, known := w.placements[key]
	decidedHere := known && p.initialized
	var decided []fleet.Slice
	for name := range w.slicesOf[key] {
		object := w.slices[name].cached
		if decidedHere {
			object = w.slices[name].own.Get()
		}
		if object != nil {
			decided = append(decided, plan.ReadSlice(object))
		}
	}
	return w.nextEdit().SetSlices(key, decided)
}

// assignOwner determines the placement that a slice belongs to.
func (w *State) assignOwner(name fleet.Key, s *sliceState) {
	object := s.cached
	if object == nil {
		object = s.own.Get()
	}
	before := s.owner
	s.owner = source.OwnerOf(object, func(key fleet.Key) bool { _, ok := w.placements[key]; return ok })
	if before != s.owner && before != (fleet.Key{}) {
		removeMember(w.slicesOf, before, name)
		w.publishDecisions(before)
	}
	addMember(w.slicesOf, s.owner, name)
}

// reassignOwners determines the owners of all slices that mention a placement after it is created or deleted.
func (w *State) reassignOwners(key fleet.Key) {
	for name := range w.mentionedBy[key] {
		s := w.slices[name]
		before := s.owner
		if w.assignOwner(name, s); s.owner != before {
			w.sliceObserved(name, s)
		}
	}
}

// indexMentions records which placements a slice mentions.
func (w *State) indexMentions(name fleet.Key, s *sliceState, object *clusterv1beta1.PlacementDecision) {
	for _, key := range s.mentions {
		removeMember(w.mentionedBy, key, name)
	}
	s.mentions = mentionedPlacements(object)
	for _, key := range s.mentions {
		addMember(w.mentionedBy, key, name)
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
func (w *State) deleteIfGone(name fleet.Key, s *sliceState) {
	if s.cached != nil || s.own.Get() != nil {
		return
	}
	delete(w.slices, name)
	removeMember(w.slicesOf, s.owner, name)
	for _, key := range s.mentions {
		removeMember(w.mentionedBy, key, name)
	}
}

func sliceKey(object *clusterv1beta1.PlacementDecision) fleet.Key {
	return fleet.Key{Namespace: object.Namespace, Name: object.Name}
}
