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

// placementState is what the world knows of one Placement.
type placementState struct {
	cached *clusterv1beta1.Placement
	// written is the object as this process last stored it or found it right; nil before it was first decided.
	written *clusterv1beta1.Placement
	// specCount counts the specs that were seen; program and faults are of the one with the number compiled.
	specCount, compiledSpec int
	program                 *program.Program
	faults                  field.ErrorList
	// initialized is set once the slices found at start count as what this process stored.
	initialized bool
	// inProgress is set between Gather and Settle.
	inProgress bool
	// attempts is what this process asked the API server to store, by the names of the slices, and does not know of whether
	// it was. Where it was, it is what this process decided, though nobody said so: a cluster that readers may have seen
	// selected must not become a newcomer by a lost answer.
	attempts map[fleet.Key][]fleet.Slice
}

// maxAttempts is how many contents of one slice are remembered. More are tried only in an outage in which the fleet changes
// all the time; then the earliest are the first to be forgotten.
const maxAttempts = 16

// addAttempt notes what a slice is about to be.
func (p *placementState) addAttempt(name fleet.Key, content fleet.Slice) {
	if p.attempts == nil {
		p.attempts = map[fleet.Key][]fleet.Slice{}
	}
	contents := p.attempts[name]
	if last := len(contents) - 1; last >= 0 && equality.Semantic.DeepEqual(contents[last], content) {
		return
	}
	if len(contents) == maxAttempts {
		contents = contents[1:]
	}
	p.attempts[name] = append(contents, content)
}

// attempted says whether a slice as it is stored is what this process tried to store.
func (p *placementState) attempted(name fleet.Key, content fleet.Slice) bool {
	for _, tried := range p.attempts[name] {
		if equality.Semantic.DeepEqual(tried, content) {
			return true
		}
	}
	return false
}

// current returns the newest state of the placement that this process knows of.
func (p *placementState) current() *clusterv1beta1.Placement {
	if p.written != nil && newer(p.written, p.cached) {
		return p.written
	}
	return p.cached
}

// managed says whether Berth is to decide the placement.
func (p *placementState) managed() bool { return managed(p.cached) }

func managed(object *clusterv1beta1.Placement) bool {
	return object.DeletionTimestamp.IsZero() && object.Annotations[clusterv1beta1.PlacementDisableAnnotation] != "true"
}

// newer says whether a is a later state than b of the same object.
func newer(a, b metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}

// sameVersion says whether a and b are the same state of the same object, though they were read apart.
func sameVersion(a, b metav1.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}

// SetPlacement records a placement as the API server has it. An echo of this process's own write wakes nobody.
func (w *State) SetPlacement(object *clusterv1beta1.Placement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := placementKey(object)
	p, known := w.placements[key]
	if known && p.cached.UID != object.UID {
		w.forgetPlacement(key)
		known = false
	}
	if !known {
		w.placements[key] = &placementState{cached: object, specCount: 1}
		w.reassignOwners(key)
		w.specChanged(key, created)
		return
	}
	before := p.cached
	p.cached = object
	if p.written != nil && sameVersion(p.written, object) {
		p.written = object // held once
	}
	if !p.managed() {
		w.release(key, p)
	}
	switch {
	case before.Generation != object.Generation:
		p.specCount++
		w.specChanged(key, specChanged)
	case managed(before) != managed(object):
		w.enqueue(key, causeFor(kindPlacement, key, managementChanged))
	case !p.inProgress && p.changedExternally():
		w.enqueue(key, causeFor(kindPlacement, key, changedExternally))
	}
}

// specChanged wakes a placement that is new or has a new spec. It is compiled when it is gathered.
func (w *State) specChanged(key fleet.Key, what string) {
	if w.ready {
		w.enqueue(key, causeFor(kindPlacement, key, what))
	}
}

// compile returns a placement once its newest spec is compiled and indexed. Compiling takes up to a second of a core, so it
// is done by the caller and not by the informer, and the world is not locked meanwhile. Known is false where there is no
// such placement. The caller holds the lock.
func (w *State) compile(key fleet.Key) (p *placementState, known bool) {
	for p, known = w.placements[key]; known && p.compiledSpec < p.specCount; p, known = w.placements[key] {
		spec, object := p.specCount, p.cached
		w.mu.Unlock()
		made, faults := program.Compile(object, w.env)
		w.mu.Lock()
		if w.placements[key] == p && p.specCount == spec {
			p.program, p.faults, p.compiledSpec = made, faults, spec
			w.index.Put(w.snapshot, key, made)
		}
	}
	return p, known
}

// changedExternally says whether the status is stored otherwise than this process left it.
func (p *placementState) changedExternally() bool {
	return p.written != nil && newer(p.cached, p.written) && !equality.Semantic.DeepEqual(p.written.Status, p.cached.Status)
}

// DeletePlacement records that a placement is gone. Whoever counts placements is to hear of it, so it is woken once more.
func (w *State) DeletePlacement(object *clusterv1beta1.Placement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetPlacement(placementKey(object))
	if w.ready {
		w.enqueue(placementKey(object), causeOf(kindPlacement, object, deleted))
	}
}

func (w *State) forgetPlacement(key fleet.Key) {
	if p, known := w.placements[key]; known {
		w.recordFormer(key, p.cached.UID)
		w.release(key, p)
	}
	delete(w.placements, key)
	w.index.Remove(key)
	w.reassignOwners(key)
	w.publishDecisions(key)
}

// release forgets what this process stored of a placement, since from now on its slices are others' business.
func (w *State) release(key fleet.Key, p *placementState) {
	p.initialized, p.written, p.attempts = false, nil, nil
	w.forgetWrites(key)
	w.publishDecisions(key)
}

// forgetWrites forgets that this process ever stored the slices of a placement.
func (w *State) forgetWrites(key fleet.Key) {
	for name := range w.slicesOf[key] {
		s := w.slices[name]
		s.written, s.pending = nil, false
		w.forgetIfGone(name, s)
	}
}

// initialize takes the slices that a placement has as what this process stored: those of its name that no other placement
// controls. It is done once, when the placement is first decided.
func (w *State) initialize(key fleet.Key, p *placementState) {
	p.initialized = true
	for name := range w.slicesOf[key] {
		s := w.slices[name]
		if s.cached == nil {
			continue
		}
		if owner, _, named := plan.Owner(s.cached); !named || owner != key {
			continue
		}
		if controller := metav1.GetControllerOf(s.cached); controller == nil || controller.UID == p.cached.UID {
			s.written = s.cached
		}
	}
	w.publishDecisions(key)
}

// AfterStatusWrite records the placement as the API server returned it after a write of its status.
func (w *State) AfterStatusWrite(object *clusterv1beta1.Placement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, known := w.placements[placementKey(object)]
	switch {
	case !known || p.cached.UID != object.UID:
	case sameVersion(p.cached, object): // the informer was faster
		p.written = p.cached
	default:
		p.written = object
	}
}
