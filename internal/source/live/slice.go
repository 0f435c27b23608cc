package live

import (
	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source"
)

// sliceState is what the world knows of one PlacementDecision.
type sliceState struct {
	// cached is the object as the informer has it; nil where it has none.
	cached *clusterv1beta1.PlacementDecision
	// written is the object as this process last stored or adopted it; nil where it never did, or deleted it.
	written *clusterv1beta1.PlacementDecision
	// pending is set while mine is a write that the informer has not shown yet.
	pending bool
	// overdue is set once an audit has found it awaited.
	overdue bool
	// deletedUID is the uid of an object that this process deleted, until the informer shows that too.
	deletedUID types.UID
	owner      fleet.Key
	// mentions are the placements that the slice mentions.
	mentions []fleet.Key
}

// current returns the slice as it is stored, as far as this process knows; nil where it is not.
func (s *sliceState) current() *clusterv1beta1.PlacementDecision {
	switch {
	case s.pending:
		return s.written
	case s.cached != nil && s.cached.UID == s.deletedUID:
		return nil
	default:
		return s.cached
	}
}

// changedExternally says whether the slice is stored otherwise than this process left it.
func (s *sliceState) changedExternally() bool {
	stored := s.current()
	switch {
	case stored == nil || s.written == nil:
		return stored != nil || s.written != nil
	default:
		return !sameVersion(stored, s.written)
	}
}

// SetSlice records a slice as the API server has it.
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
	if s.pending && !newer(s.written, object) {
		s.pending = false
	}
	if s.written != nil && sameVersion(s.written, object) {
		s.written = object // held once
	}
	w.indexMentions(name, s, object)
	w.assignOwner(name, s)
	w.recognizeWrite(name, s)
	w.sliceObserved(name, s)
}

// recognizeWrite takes a slice for what this process stored where it shows a write whose answer was lost.
func (w *State) recognizeWrite(name fleet.Key, s *sliceState) {
	p, known := w.placements[s.owner]
	if !known || s.pending || s.written != nil && !newer(s.cached, s.written) {
		return
	}
	if p.attempted(name, plan.ReadSlice(s.cached)) {
		s.written = s.cached
		w.publishDecisions(s.owner)
	}
}

// DeleteSlice records that a slice is gone.
func (w *State) DeleteSlice(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := sliceKey(object)
	s, known := w.slices[name]
	if !known {
		return
	}
	if s.written != nil && s.written.UID == object.UID {
		s.pending = false
	}
	s.cached, s.deletedUID = nil, ""
	w.sliceObserved(name, s)
	w.forgetIfGone(name, s)
}

// sliceObserved lets the world follow what the informer shows of a slice: a placement that has not been decided yet is taken
// at the informer's word, any other is woken where a stranger was at work.
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
	if !p.inProgress && s.changedExternally() {
		w.enqueue(s.owner, causeFor(kindSlice, name, changedExternally))
	}
}

// BeforeWrite records what a slice will be if the API server carries out the write that is about to be sent.
func (w *State) BeforeWrite(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if owner, _, named := plan.Owner(object); named {
		if p, known := w.placements[owner]; known && p.initialized {
			p.addAttempt(sliceKey(object), plan.ReadSlice(object))
		}
	}
}

// AfterWrite records a slice as the API server returned it after a write.
func (w *State) AfterWrite(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := sliceKey(object)
	s, known := w.slices[name]
	if !known {
		s = &sliceState{}
		w.slices[name] = s
	}
	s.written = object
	if s.cached != nil && sameVersion(s.cached, object) { // the informer was faster
		s.written = s.cached
	}
	s.pending = s.cached == nil || newer(object, s.cached)
	if !known {
		w.indexMentions(name, s, object)
		w.assignOwner(name, s)
	}
	if p, known := w.placements[s.owner]; known {
		delete(p.attempts, name)
	}
}

// AfterApply records that what a plan found and did not write is as it is to be, whoever made it so: objects that are stored
// and slices that are not.
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
		if s, known := w.slices[name]; known && !settled[name] && (s.written == nil || !newer(s.written, object)) {
			s.written = object
		}
		settled[name] = true
	}
	for name := range w.slicesOf[key] {
		if s := w.slices[name]; !settled[name] {
			s.written, s.pending = nil, false // a stranger deleted it, and it is not to be restored
			w.forgetIfGone(name, s)
		}
	}
	p.attempts = nil
	if !reported {
		p.written = found.Placement
	}
}

// AfterDelete records that this process deleted a slice.
func (w *State) AfterDelete(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := sliceKey(object)
	if s, known := w.slices[name]; known {
		s.written, s.pending, s.deletedUID = nil, false, object.UID
		w.forgetIfGone(name, s)
	}
}

// publishDecisions puts the decisions of a placement into the snapshot, once the world is ready.
func (w *State) publishDecisions(key fleet.Key) {
	if w.ready && w.syncDecisions(key) {
		w.publish()
	}
}

// syncDecisions edits the decisions of a placement: they are what this process stored, or what the informer shows where it has not
// decided the placement. It returns whether that changed anything.
func (w *State) syncDecisions(key fleet.Key) bool {
	w.updateUnmanaged(key)
	w.updateFormer(key)
	p, known := w.placements[key]
	mine := known && p.initialized
	var decided []fleet.Slice
	for name := range w.slicesOf[key] {
		object := w.slices[name].cached
		if mine {
			object = w.slices[name].written
		}
		if object != nil {
			decided = append(decided, plan.ReadSlice(object))
		}
	}
	return w.nextEdit().SetSlices(key, decided)
}

// assignOwner works out anew to which placement a slice belongs.
func (w *State) assignOwner(name fleet.Key, s *sliceState) {
	object := s.cached
	if object == nil {
		object = s.written
	}
	before := s.owner
	s.owner = source.OwnerOf(object, func(key fleet.Key) bool { _, ok := w.placements[key]; return ok })
	if before != s.owner && before != (fleet.Key{}) {
		removeMember(w.slicesOf, before, name)
		w.publishDecisions(before)
	}
	addMember(w.slicesOf, s.owner, name)
}

// reassignOwners works out anew the owners of every slice that mentions a placement, since it came or went.
func (w *State) reassignOwners(key fleet.Key) {
	for name := range w.mentionedBy[key] {
		s := w.slices[name]
		before := s.owner
		if w.assignOwner(name, s); s.owner != before {
			w.sliceObserved(name, s)
		}
	}
}

// indexMentions notes which placements a slice mentions.
func (w *State) indexMentions(name fleet.Key, s *sliceState, object *clusterv1beta1.PlacementDecision) {
	for _, key := range s.mentions {
		removeMember(w.mentionedBy, key, name)
	}
	s.mentions = mentionedPlacements(object)
	for _, key := range s.mentions {
		addMember(w.mentionedBy, key, name)
	}
}

// mentionedPlacements returns the placements that a slice names: in its own name, and in its label.
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

// forgetIfGone forgets a slice of which nothing is left: neither stored, nor to be restored.
func (w *State) forgetIfGone(name fleet.Key, s *sliceState) {
	if s.cached != nil || s.written != nil {
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
