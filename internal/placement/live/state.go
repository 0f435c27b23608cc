package live

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/wake"
)

// State is the fleet as it is known now. Its methods may be called from any goroutine.
type State struct {
	env                    *celenv.Env
	clock                  clock.PassiveClock
	enqueue, enqueueScored func(fleet.Key, explain.Cause)

	mu sync.Mutex
	// ready is set once the caches are filled. Until then no snapshot is read; then every placement is enqueued.
	ready    bool
	snapshot *fleet.Snapshot
	// pending holds the changes since the snapshot; nil without changes. Once the state is ready, these are heartbeats and
	// scores, which the index does not read from a snapshot. They are published when a snapshot is read.
	pending *fleet.Edit
	// changes counts the changes so far.
	changes    uint64
	index      *wake.Index
	placements map[fleet.Key]*placementState
	slices     map[fleet.Key]*sliceState
	// mentionedBy lists for each placement the slices that name it in their name or label, slicesOf those that belong to it.
	mentionedBy, slicesOf map[fleet.Key]map[fleet.Key]struct{}
	// former is the UID of the deleted placement of a name while slices that it controls exist.
	former map[fleet.Key]types.UID
	// unmanaged lists the clusters in slices that Berth wrote and does not decide now: their placement is disabled, being
	// deleted or gone.
	unmanaged map[fleet.Key]map[string]struct{}
	// boundTo lists for each set the namespaces with a binding to it.
	boundTo map[string]map[string]struct{}
	// assumeBuiltIn is set if the manager restores the built-in sets.
	assumeBuiltIn bool
}

// New returns an empty State. For each placement that a change can affect, enqueueScored is called where only a score
// changed, and enqueue for any other change. Neither may block or call the State.
func New(env *celenv.Env, at clock.PassiveClock, enqueue, scored func(fleet.Key, explain.Cause)) *State {
	return &State{
		env: env, clock: at, enqueue: enqueue, enqueueScored: scored,
		snapshot:    fleet.Empty(),
		index:       wake.NewIndex(),
		placements:  map[fleet.Key]*placementState{},
		slices:      map[fleet.Key]*sliceState{},
		mentionedBy: map[fleet.Key]map[fleet.Key]struct{}{},
		slicesOf:    map[fleet.Key]map[fleet.Key]struct{}{},
		former:      map[fleet.Key]types.UID{},
		unmanaged:   map[fleet.Key]map[string]struct{}{},
		boundTo:     map[string]map[string]struct{}{},
	}
}

// Ready ends the initial filling: every placement is indexed and enqueued.
func (s *State) Ready() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready {
		return
	}
	for key := range s.slicesOf {
		s.syncDecisions(key)
	}
	s.ready = true
	s.publish()
	for key := range s.placements {
		s.enqueue(key, explain.Cause{Kind: kindManager, What: started})
	}
	for key := range s.unmanaged {
		if _, known := s.placements[key]; !known {
			s.enqueue(key, explain.Cause{Kind: kindManager, What: started})
		}
	}
}

// Refresh enqueues every placement, for a change that affects all decisions or writes.
func (s *State) Refresh(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		return
	}
	for key := range s.placements {
		s.enqueue(key, explain.Cause{Kind: kindManager, What: what})
	}
}

// nextEdit counts a change and returns the edit for it.
func (s *State) nextEdit() *fleet.Edit {
	s.changes++
	if s.pending == nil {
		s.pending = s.snapshot.Edit()
	}
	return s.pending
}

// publish puts the pending changes into the snapshot, once the state is ready.
func (s *State) publish() {
	if s.ready && s.pending != nil {
		s.snapshot, s.pending = s.pending.Snapshot(), nil
	}
}

// enqueueAll enqueues the affected placements with a cause, once the state is ready.
func (s *State) enqueueAll(enqueue func(fleet.Key, explain.Cause), touched func() []fleet.Key, why func() explain.Cause) {
	if !s.ready {
		return
	}
	keys := touched()
	if len(keys) == 0 {
		return
	}
	cause := why()
	for _, key := range keys {
		enqueue(key, cause)
	}
}

// reindex indexes placements again after a change of the sets that they may choose from.
func (s *State) reindex(keys []fleet.Key) {
	for _, key := range keys {
		s.index.Put(s.snapshot, key, s.placements[key].program) // a spec that is not compiled yet is indexed later
	}
}

// Input is everything that the decision of one placement needs. It is read-only.
type Input struct {
	Snapshot *fleet.Snapshot
	// Changes is the number of changes so far. The difference of two inputs bounds how much their snapshots differ.
	Changes uint64
	// Program is nil if the placement does not compile; Faults are the reasons.
	Program *program.Program
	Faults  field.ErrorList
	Stored  plan.Stored
}

// Gather returns the input of a placement as of now. Ok is false if the placement does not exist, is being deleted, or is
// disabled by its annotation. The caller must call Finish before the placement is gathered again.
func (s *State) Gather(key fleet.Key, now time.Time) (c Input, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		return Input{}, false
	}
	p, known := s.compile(key)
	if !known || !p.managed() {
		return Input{}, false
	}
	if !p.initialized {
		s.initialize(key, p)
	}
	p.inProgress = true
	return s.inputFor(key, p, now), true
}

// inputFor returns the input of a placement.
func (s *State) inputFor(key fleet.Key, p *placementState, now time.Time) Input {
	s.publish()
	return Input{
		Snapshot: s.snapshot.At(now), Changes: s.changes, Program: p.program, Faults: p.faults,
		Stored: plan.Stored{Placement: p.current(), Slices: s.currentSlices(key), FormerUID: s.former[key]},
	}
}

// currentSlices returns the stored slices of a placement, including the writes of this process.
func (s *State) currentSlices(key fleet.Key) []*clusterv1beta1.PlacementDecision {
	var out []*clusterv1beta1.PlacementDecision
	for name := range s.slicesOf[key] {
		if object := s.slices[name].own.Stored(s.slices[name].cached); object != nil {
			out = append(out, object)
		}
	}
	return out
}

// Finish ends the attempt that Gather began. If another client changed the status of the placement or one of its slices
// meanwhile, the placement is enqueued again. After a failed attempt the caller retries.
func (s *State) Finish(key fleet.Key, failed bool) {
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
func (s *State) externalChange(key fleet.Key, p *placementState) (what explain.Cause, ok bool) {
	what, ok = causeFor(kindPlacement, key, changedExternally), p.changedExternally()
	for name := range s.slicesOf[key] {
		if slice := s.slices[name]; slice.own.Changed(slice.cached) && (what.Kind == kindPlacement || name.Name < what.Name) {
			what, ok = causeFor(kindSlice, name, changedExternally), true
		}
	}
	return what, ok
}

// Audit ends the wait for writes that the informer will never show, by the rule of package assumed. From then on the
// informer counts. Audit also publishes pending heartbeats, so that their objects can be freed.
func (s *State) Audit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publish()
	now := s.clock.Now()
	for name, slice := range s.slices {
		if slice.own.Expire(slice.cached, now) {
			s.enqueue(slice.owner, causeFor(kindSlice, name, writeLost))
		}
	}
}

func placementKey(object *clusterv1beta1.Placement) fleet.Key {
	return fleet.Key{Namespace: object.Namespace, Name: object.Name}
}
