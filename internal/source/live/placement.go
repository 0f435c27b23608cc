package live

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
)

// placement is what the world knows of one Placement.
type placement struct {
	cached *clusterv1beta1.Placement
	// mine is the object as this process last stored it or found it right; nil before it was first decided.
	mine *clusterv1beta1.Placement
	// specs counts the specs that were seen; program and faults are of the one with the number compiled.
	specs, compiled int
	program         *program.Program
	faults          field.ErrorList
	// adopted is set once the slices found at start count as what this process stored.
	adopted bool
	// busy is set between Gather and Settle.
	busy bool
	// tried is what this process asked the API server to store, by the names of the slices, and does not know of whether
	// it was. Where it was, it is what this process decided, though nobody said so: a cluster that readers may have seen
	// selected must not become a newcomer by a lost answer.
	tried map[fleet.Key][]fleet.Slice
}

// maxTried is how many contents of one slice are remembered. More are tried only in an outage in which the fleet changes
// all the time; then the earliest are the first to be forgotten.
const maxTried = 16

// try notes what a slice is about to be.
func (p *placement) try(name fleet.Key, content fleet.Slice) {
	if p.tried == nil {
		p.tried = map[fleet.Key][]fleet.Slice{}
	}
	contents := p.tried[name]
	if last := len(contents) - 1; last >= 0 && equality.Semantic.DeepEqual(contents[last], content) {
		return
	}
	if len(contents) == maxTried {
		contents = contents[1:]
	}
	p.tried[name] = append(contents, content)
}

// stored says whether a slice as it is stored is what this process tried to store.
func (p *placement) stored(name fleet.Key, content fleet.Slice) bool {
	for _, tried := range p.tried[name] {
		if equality.Semantic.DeepEqual(tried, content) {
			return true
		}
	}
	return false
}

// object returns the newest state of the placement that this process knows of.
func (p *placement) object() *clusterv1beta1.Placement {
	if p.mine != nil && newer(p.mine, p.cached) {
		return p.mine
	}
	return p.cached
}

// wanted says whether Berth is to decide the placement.
func (p *placement) wanted() bool { return wanted(p.cached) }

func wanted(object *clusterv1beta1.Placement) bool {
	return object.DeletionTimestamp.IsZero() && object.Annotations[clusterv1beta1.PlacementDisableAnnotation] != "true"
}

// newer says whether a is a later state than b of the same object.
func newer(a, b metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}

// same says whether a and b are the same state of the same object, though they were read apart.
func same(a, b metav1.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}

// SetPlacement records a placement as the API server has it. An echo of this process's own write wakes nobody.
func (w *World) SetPlacement(object *clusterv1beta1.Placement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := keyOf(object)
	p, known := w.placements[key]
	if known && p.cached.UID != object.UID {
		w.forgetPlacement(key)
		known = false
	}
	if !known {
		w.placements[key] = &placement{cached: object, specs: 1}
		w.reclaim(key)
		w.specified(key, created)
		return
	}
	before := p.cached
	p.cached = object
	if p.mine != nil && same(p.mine, object) {
		p.mine = object // held once
	}
	if !p.wanted() {
		w.leave(key, p)
	}
	switch {
	case before.Generation != object.Generation:
		p.specs++
		w.specified(key, respecced)
	case wanted(before) != wanted(object):
		w.wake(key, aboutKey(kindPlacement, key, annotated))
	case !p.busy && p.strange():
		w.wake(key, aboutKey(kindPlacement, key, stranger))
	}
}

// specified wakes a placement that is new or has a new spec. It is compiled when it is gathered.
func (w *World) specified(key fleet.Key, what string) {
	if w.ready {
		w.wake(key, aboutKey(kindPlacement, key, what))
	}
}

// compiled returns a placement once its newest spec is compiled and indexed. Compiling takes up to a second of a core, so it
// is done by the caller and not by the informer, and the world is not locked meanwhile. Known is false where there is no
// such placement. The caller holds the lock.
func (w *World) compiled(key fleet.Key) (p *placement, known bool) {
	for p, known = w.placements[key]; known && p.compiled < p.specs; p, known = w.placements[key] {
		spec, object := p.specs, p.cached
		w.mu.Unlock()
		made, faults := program.Compile(object, w.env)
		w.mu.Lock()
		if w.placements[key] == p && p.specs == spec {
			p.program, p.faults, p.compiled = made, faults, spec
			w.index.Put(w.snapshot, key, made)
		}
	}
	return p, known
}

// strange says whether the status is stored otherwise than this process left it.
func (p *placement) strange() bool {
	return p.mine != nil && newer(p.cached, p.mine) && !equality.Semantic.DeepEqual(p.mine.Status, p.cached.Status)
}

// DeletePlacement records that a placement is gone. Whoever counts placements is to hear of it, so it is woken once more.
func (w *World) DeletePlacement(object *clusterv1beta1.Placement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetPlacement(keyOf(object))
	if w.ready {
		w.wake(keyOf(object), about(kindPlacement, object, deleted))
	}
}

func (w *World) forgetPlacement(key fleet.Key) {
	if p, known := w.placements[key]; known {
		w.end(key, p.cached.UID)
		w.leave(key, p)
	}
	delete(w.placements, key)
	w.index.Remove(key)
	w.reclaim(key)
	w.refresh(key)
}

// leave forgets what this process stored of a placement, since from now on its slices are others' business.
func (w *World) leave(key fleet.Key, p *placement) {
	p.adopted, p.mine, p.tried = false, nil, nil
	w.disown(key)
	w.refresh(key)
}

// disown forgets that this process ever stored the slices of a placement.
func (w *World) disown(key fleet.Key) {
	for name := range w.owns[key] {
		s := w.slices[name]
		s.mine, s.awaited = nil, false
		w.tidy(name, s)
	}
}

// adopt takes the slices that a placement has as what this process stored: those of its name that no other placement
// controls. It is done once, when the placement is first decided.
func (w *World) adopt(key fleet.Key, p *placement) {
	p.adopted = true
	for name := range w.owns[key] {
		s := w.slices[name]
		if s.cached == nil {
			continue
		}
		if owner, _, named := plan.Owner(s.cached); !named || owner != key {
			continue
		}
		if controller := metav1.GetControllerOf(s.cached); controller == nil || controller.UID == p.cached.UID {
			s.mine = s.cached
		}
	}
	w.refresh(key)
}

// Reported records the placement as the API server returned it after a write of its status.
func (w *World) Reported(object *clusterv1beta1.Placement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, known := w.placements[keyOf(object)]
	switch {
	case !known || p.cached.UID != object.UID:
	case same(p.cached, object): // the informer was faster
		p.mine = p.cached
	default:
		p.mine = object
	}
}
