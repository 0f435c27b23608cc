package live

import (
	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source"
)

// slice is what the world knows of one PlacementDecision.
type slice struct {
	// cached is the object as the informer has it; nil where it has none.
	cached *clusterv1beta1.PlacementDecision
	// mine is the object as this process last stored or adopted it; nil where it never did, or deleted it.
	mine *clusterv1beta1.PlacementDecision
	// awaited is set while mine is a write that the informer has not shown yet.
	awaited bool
	// overdue is set once an audit has found it awaited.
	overdue bool
	// buried is the uid of an object that this process deleted, until the informer shows that too.
	buried types.UID
	owner  fleet.Key
	// named are the placements that the slice mentions.
	named []fleet.Key
}

// object returns the slice as it is stored, as far as this process knows; nil where it is not.
func (s *slice) object() *clusterv1beta1.PlacementDecision {
	switch {
	case s.awaited:
		return s.mine
	case s.cached != nil && s.cached.UID == s.buried:
		return nil
	default:
		return s.cached
	}
}

// strange says whether the slice is stored otherwise than this process left it.
func (s *slice) strange() bool {
	stored := s.object()
	switch {
	case stored == nil || s.mine == nil:
		return stored != nil || s.mine != nil
	default:
		return !same(stored, s.mine)
	}
}

// SetSlice records a slice as the API server has it.
func (w *World) SetSlice(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := nameOf(object)
	s, known := w.slices[name]
	if !known {
		s = &slice{}
		w.slices[name] = s
	}
	s.cached = object
	if s.awaited && !newer(s.mine, object) {
		s.awaited = false
	}
	if s.mine != nil && same(s.mine, object) {
		s.mine = object // held once
	}
	w.mention(name, s, object)
	w.own(name, s)
	w.claim(name, s)
	w.seen(name, s)
}

// claim takes a slice for what this process stored where it shows a write whose answer was lost.
func (w *World) claim(name fleet.Key, s *slice) {
	p, known := w.placements[s.owner]
	if !known || s.awaited || s.mine != nil && !newer(s.cached, s.mine) {
		return
	}
	if p.stored(name, plan.ReadSlice(s.cached)) {
		s.mine = s.cached
		w.refresh(s.owner)
	}
}

// DeleteSlice records that a slice is gone.
func (w *World) DeleteSlice(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := nameOf(object)
	s, known := w.slices[name]
	if !known {
		return
	}
	if s.mine != nil && s.mine.UID == object.UID {
		s.awaited = false
	}
	s.cached, s.buried = nil, ""
	w.seen(name, s)
	w.tidy(name, s)
}

// seen lets the world follow what the informer shows of a slice: a placement that has not been decided yet is taken
// at the informer's word, any other is woken where a stranger was at work.
func (w *World) seen(name fleet.Key, s *slice) {
	p, known := w.placements[s.owner]
	if !known || !p.adopted {
		_, before := w.unmanaged[s.owner]
		w.refresh(s.owner)
		if _, after := w.unmanaged[s.owner]; w.ready && (before || after) {
			w.wake(s.owner, aboutKey(kindSlice, name, stranger))
		}
		return
	}
	if !p.busy && s.strange() {
		w.wake(s.owner, aboutKey(kindSlice, name, stranger))
	}
}

// Trying records what a slice will be if the API server carries out the write that is about to be sent.
func (w *World) Trying(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if owner, _, named := plan.Owner(object); named {
		if p, known := w.placements[owner]; known && p.adopted {
			p.try(nameOf(object), plan.ReadSlice(object))
		}
	}
}

// Stored records a slice as the API server returned it after a write.
func (w *World) Stored(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := nameOf(object)
	s, known := w.slices[name]
	if !known {
		s = &slice{}
		w.slices[name] = s
	}
	s.mine = object
	if s.cached != nil && same(s.cached, object) { // the informer was faster
		s.mine = s.cached
	}
	s.awaited = s.cached == nil || newer(object, s.cached)
	if !known {
		w.mention(name, s, object)
		w.own(name, s)
	}
	if p, known := w.placements[s.owner]; known {
		delete(p.tried, name)
	}
}

// Kept records that what a plan found and did not write is as it is to be, whoever made it so: objects that are stored
// and slices that are not.
func (w *World) Kept(found plan.Stored, written plan.Plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := keyOf(found.Placement)
	p, known := w.placements[key]
	if !known || p.cached.UID != found.Placement.UID {
		return
	}
	reported, settled := false, map[fleet.Key]bool{}
	for _, write := range written.Writes {
		if write.Slice != nil {
			settled[nameOf(write.Slice)] = true
		} else {
			reported = true
		}
	}
	for _, object := range found.Slices {
		name := nameOf(object)
		if s, known := w.slices[name]; known && !settled[name] && (s.mine == nil || !newer(s.mine, object)) {
			s.mine = object
		}
		settled[name] = true
	}
	for name := range w.owns[key] {
		if s := w.slices[name]; !settled[name] {
			s.mine, s.awaited = nil, false // a stranger deleted it, and it is not to be restored
			w.tidy(name, s)
		}
	}
	p.tried = nil
	if !reported {
		p.mine = found.Placement
	}
}

// Removed records that this process deleted a slice.
func (w *World) Removed(object *clusterv1beta1.PlacementDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := nameOf(object)
	if s, known := w.slices[name]; known {
		s.mine, s.awaited, s.buried = nil, false, object.UID
		w.tidy(name, s)
	}
}

// refresh puts the decisions of a placement into the snapshot, once the world is ready.
func (w *World) refresh(key fleet.Key) {
	if w.ready && w.fill(key) {
		w.publish()
	}
}

// fill edits the decisions of a placement: they are what this process stored, or what the informer shows where it has not
// decided the placement. It returns whether that changed anything.
func (w *World) fill(key fleet.Key) bool {
	w.watchUnmanaged(key)
	w.forgetFormer(key)
	p, known := w.placements[key]
	mine := known && p.adopted
	var decided []fleet.Slice
	for name := range w.owns[key] {
		object := w.slices[name].cached
		if mine {
			object = w.slices[name].mine
		}
		if object != nil {
			decided = append(decided, plan.ReadSlice(object))
		}
	}
	return w.editing().SetSlices(key, decided)
}

// own works out anew to which placement a slice belongs.
func (w *World) own(name fleet.Key, s *slice) {
	object := s.cached
	if object == nil {
		object = s.mine
	}
	before := s.owner
	s.owner = source.OwnerOf(object, func(key fleet.Key) bool { _, ok := w.placements[key]; return ok })
	if before != s.owner && before != (fleet.Key{}) {
		drop(w.owns, before, name)
		w.refresh(before)
	}
	put(w.owns, s.owner, name)
}

// reclaim works out anew the owners of every slice that mentions a placement, since it came or went.
func (w *World) reclaim(key fleet.Key) {
	for name := range w.mentions[key] {
		s := w.slices[name]
		before := s.owner
		if w.own(name, s); s.owner != before {
			w.seen(name, s)
		}
	}
}

// mention notes which placements a slice mentions.
func (w *World) mention(name fleet.Key, s *slice, object *clusterv1beta1.PlacementDecision) {
	for _, key := range s.named {
		drop(w.mentions, key, name)
	}
	s.named = mentioned(object)
	for _, key := range s.named {
		put(w.mentions, key, name)
	}
}

// mentioned returns the placements that a slice names: in its own name, and in its label.
func mentioned(object *clusterv1beta1.PlacementDecision) []fleet.Key {
	var out []fleet.Key
	if key, _, ok := plan.Owner(object); ok {
		out = append(out, key)
	}
	if label := object.Labels[clusterv1beta1.PlacementLabel]; label != "" {
		out = append(out, fleet.Key{Namespace: object.Namespace, Name: label})
	}
	return out
}

// tidy forgets a slice of which nothing is left: neither stored, nor to be restored.
func (w *World) tidy(name fleet.Key, s *slice) {
	if s.cached != nil || s.mine != nil {
		return
	}
	delete(w.slices, name)
	drop(w.owns, s.owner, name)
	for _, key := range s.named {
		drop(w.mentions, key, name)
	}
}

func nameOf(object *clusterv1beta1.PlacementDecision) fleet.Key {
	return fleet.Key{Namespace: object.Namespace, Name: object.Name}
}
