package live

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
)

// World is the fleet as it is known now. Its methods may be called from any goroutine.
type World struct {
	env          *celenv.Env
	wake, scored func(fleet.Key, explain.Cause)

	mu sync.Mutex
	// ready is set once the caches are filled: until then nobody asks for a snapshot, and everybody is woken at the end.
	ready    bool
	snapshot *fleet.Snapshot
	// edit is what has changed since the snapshot; nil where nothing has. Once the world is ready that is heartbeats and
	// scores, of which the index reads nothing in a snapshot: one is made of them when somebody asks for it.
	edit *fleet.Edit
	// changes counts what has changed so far.
	changes    uint64
	index      *program.Index
	placements map[fleet.Key]*placement
	slices     map[fleet.Key]*slice
	// mentions lists for each placement the slices that name it in any way, owns those of them that are its own.
	mentions, owns map[fleet.Key]map[fleet.Key]struct{}
	// former is the uid of the deleted placement of a name, while slices that it controls are known.
	former map[fleet.Key]types.UID
	// unmanaged lists the clusters in slices that Berth wrote and does not decide now: their placement is disabled, being deleted,
	// or gone.
	unmanaged map[fleet.Key]map[string]struct{}
	// boundTo lists for each set the namespaces that have a binding of its name.
	boundTo map[string]map[string]struct{}
	// builtIn says that somebody restores the built-in sets.
	builtIn bool
}

// New returns a World of nothing. For each placement that a change can touch, scored is called where a score changed, and
// wake where anything else did, with what changed. They must neither block nor call back.
func New(env *celenv.Env, wake, scored func(fleet.Key, explain.Cause)) *World {
	return &World{
		env: env, wake: wake, scored: scored,
		snapshot:   fleet.Empty(),
		index:      program.NewIndex(),
		placements: map[fleet.Key]*placement{},
		slices:     map[fleet.Key]*slice{},
		mentions:   map[fleet.Key]map[fleet.Key]struct{}{},
		owns:       map[fleet.Key]map[fleet.Key]struct{}{},
		former:     map[fleet.Key]types.UID{},
		unmanaged:  map[fleet.Key]map[string]struct{}{},
		boundTo:    map[string]map[string]struct{}{},
	}
}

// Ready ends the filling of the caches: every placement is indexed and woken.
func (w *World) Ready() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ready {
		return
	}
	for key := range w.owns {
		w.fill(key)
	}
	w.ready = true
	w.publish()
	for key := range w.placements {
		w.wake(key, explain.Cause{Kind: kindManager, What: started})
	}
	for key := range w.unmanaged {
		if _, known := w.placements[key]; !known {
			w.wake(key, explain.Cause{Kind: kindManager, What: started})
		}
	}
}

// Refresh wakes every placement, since the manager decides or writes otherwise than before.
func (w *World) Refresh(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ready {
		return
	}
	for key := range w.placements {
		w.wake(key, explain.Cause{Kind: kindManager, What: what})
	}
}

// editing returns the edit for one more change.
func (w *World) editing() *fleet.Edit {
	w.changes++
	if w.edit == nil {
		w.edit = w.snapshot.Edit()
	}
	return w.edit
}

// publish puts what has changed into the snapshot, once the world is ready.
func (w *World) publish() {
	if w.ready && w.edit != nil {
		w.snapshot, w.edit = w.edit.Snapshot(), nil
	}
}

// tell calls wake for those whom a change can touch, with why, once the world is ready.
func (w *World) tell(wake func(fleet.Key, explain.Cause), touched func() []fleet.Key, why func() explain.Cause) {
	if !w.ready {
		return
	}
	keys := touched()
	if len(keys) == 0 {
		return
	}
	cause := why()
	for _, key := range keys {
		wake(key, cause)
	}
}

// reindex puts placements into the index again after a change of what they may reach.
func (w *World) reindex(keys []fleet.Key) {
	for _, key := range keys {
		w.index.Put(w.snapshot, key, w.placements[key].program) // a spec that is not compiled yet is indexed once it is
	}
}

// Case is all that deciding one placement needs. Everything in it is read-only.
type Case struct {
	Snapshot *fleet.Snapshot
	// Changes is how many changes the world had seen by then. Of two snapshots it says how much they can hold that is not the
	// same.
	Changes uint64
	// Program is nil where the placement does not compile; then Faults says why.
	Program *program.Program
	Faults  field.ErrorList
	Stored  plan.Stored
}

// Gather returns the case of a placement as of now. Ok is false where there is nothing to decide: the placement does
// not exist, is being deleted, or is left to others by its annotation. The caller must Settle each case before the
// placement is gathered again.
func (w *World) Gather(key fleet.Key, now time.Time) (c Case, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ready {
		return Case{}, false
	}
	p, known := w.compiled(key)
	if !known || !p.wanted() {
		return Case{}, false
	}
	if !p.adopted {
		w.adopt(key, p)
	}
	p.busy = true
	return w.lay(key, p, now), true
}

// lay lays out the case of a placement.
func (w *World) lay(key fleet.Key, p *placement, now time.Time) Case {
	w.publish()
	return Case{
		Snapshot: w.snapshot.At(now), Changes: w.changes, Program: p.program, Faults: p.faults,
		Stored: plan.Stored{Placement: p.object(), Slices: w.stored(key), Former: w.former[key]},
	}
}

// stored returns the slices of a placement as they are stored, as far as this process knows.
func (w *World) stored(key fleet.Key) []*clusterv1beta1.PlacementDecision {
	var out []*clusterv1beta1.PlacementDecision
	for name := range w.owns[key] {
		if object := w.slices[name].object(); object != nil {
			out = append(out, object)
		}
	}
	return out
}

// Settle ends a case. Where a stranger changed the placement's status or one of its slices in the meantime, the
// placement is woken again, unless the case failed: then its caller tries again in its own time.
func (w *World) Settle(key fleet.Key, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, known := w.placements[key]
	if !known || !p.adopted {
		w.disown(key) // the placement went, or was taken from us, while its plan was applied
	}
	w.refresh(key)
	if !known {
		return
	}
	p.busy = false
	if !p.adopted || failed {
		return
	}
	if cause, strange := w.strange(key, p); strange {
		w.wake(key, cause)
	}
}

// strange says whether anything of a placement is stored otherwise than this process left it, and what.
func (w *World) strange(key fleet.Key, p *placement) (what explain.Cause, ok bool) {
	what, ok = aboutKey(kindPlacement, key, stranger), p.strange()
	for name := range w.owns[key] {
		if w.slices[name].strange() && (what.Kind == kindPlacement || name.Name < what.Name) {
			what, ok = aboutKey(kindSlice, name, stranger), true
		}
	}
	return what, ok
}

// Audit gives up waiting for the informer to show writes that were already awaited at the last audit: an object that
// was made and removed while a watch was broken never shows. What the informer has then counts. What heartbeats have
// replaced is let go, if nobody asked for a snapshot since.
func (w *World) Audit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.publish()
	for name, s := range w.slices {
		switch {
		case !s.awaited:
			s.overdue = false
		case !s.overdue:
			s.overdue = true
		default:
			s.awaited, s.overdue = false, false
			w.wake(s.owner, aboutKey(kindSlice, name, vanished))
		}
	}
}

func keyOf(object *clusterv1beta1.Placement) fleet.Key {
	return fleet.Key{Namespace: object.Namespace, Name: object.Name}
}
