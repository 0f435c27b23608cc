package live

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
)

// Stored is the placements and slices of a hub as they are most probably stored: as the informers show them, and as this process wrote them
// since. It passes the decisions to the Fleet. Its methods may be called from any goroutine. They may call the Fleet while they hold the
// lock; the Fleet never calls back.
type Stored struct {
	fleet   *Fleet
	env     *celenv.Env
	clock   clock.PassiveClock
	enqueue func(fleet.Key, explain.Cause)

	mu sync.Mutex
	// ready is set once the caches are filled. Until then nothing is gathered; then every placement is enqueued.
	ready      bool
	placements map[fleet.Key]*placementState
	slices     map[fleet.Key]*sliceState
	// mentionedBy lists for each placement the slices that name it in their name or label, slicesOf those that belong to it.
	mentionedBy, slicesOf map[fleet.Key]map[fleet.Key]struct{}
	// former is the UID of the deleted placement of a name while slices that it controls exist.
	former map[fleet.Key]types.UID
	// grace is how long a placement of the name of a deleted one inherits its decisions, which inheritances has; 0: never.
	grace        time.Duration
	inheritances map[fleet.Key]inheritance
	// keeps returns true while what is deleted goes with its definition. Nil: never.
	keeps func() bool
	// unmanaged lists the clusters in slices that Berth wrote and does not decide now: their placement is disabled, being
	// deleted or gone.
	unmanaged map[fleet.Key]map[string]struct{}
}

// New returns an empty Fleet and an empty Stored. For each placement that a change can affect, scored is called where only a score
// changed, and enqueue for any other change. Both are called with a lock held: neither may block, or call the Fleet or the Stored.
func New(env *celenv.Env, at clock.PassiveClock, enqueue, scored func(fleet.Key, explain.Cause)) (*Fleet, *Stored) {
	f := newFleet(at, enqueue, scored)
	return f, &Stored{
		fleet: f, env: env, clock: at, enqueue: enqueue,
		placements:  map[fleet.Key]*placementState{},
		slices:      map[fleet.Key]*sliceState{},
		mentionedBy: map[fleet.Key]map[fleet.Key]struct{}{},
		slicesOf:    map[fleet.Key]map[fleet.Key]struct{}{},
		former:      map[fleet.Key]types.UID{},
		unmanaged:   map[fleet.Key]map[string]struct{}{},

		inheritances: map[fleet.Key]inheritance{},
	}
}

// HoldWithdrawals makes sets, bindings, labels and claims count for a time after they are gone, and keeps the decisions of deleted
// placements as long for placements of their names. The caller ends the withdrawals that are due. Call it before the first object is
// recorded.
func (s *Stored) HoldWithdrawals(grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grace = grace
	s.fleet.holdWithdrawals(grace)
}

// KeepWhile makes decisions that go while keeps returns true count until the placement is decided again, whatever time passes: they go with
// their definition. Keeps is called with a lock held, and must not call the Stored. Call it before the first object is recorded.
func (s *Stored) KeepWhile(keeps func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeps = keeps
}

// SetRules sets the rules of the hub. Call it before the first decision.
func (s *Stored) SetRules(rules fleet.Rules) { s.fleet.setRules(rules) }

// Ready ends the initial filling of both: every placement is enqueued.
func (s *Stored) Ready() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready {
		return
	}
	s.ready = true
	for key := range s.slicesOf {
		s.publishDecisions(key)
	}
	s.fleet.start()
	for key := range s.placements {
		s.enqueue(key, explain.Cause{Kind: KindManager, What: started})
	}
	for key := range s.unmanaged {
		if _, known := s.placements[key]; !known {
			s.enqueue(key, explain.Cause{Kind: KindManager, What: started})
		}
	}
}

// Refresh enqueues every placement, for a change that affects all decisions or writes.
func (s *Stored) Refresh(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		return
	}
	for key := range s.placements {
		s.enqueue(key, explain.Cause{Kind: KindManager, What: what})
	}
}

// Audit ends the wait for writes that the informer will never show, by the rule of package assumed. From then on the informer counts.
func (s *Stored) Audit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	s.beginInheritances(now)
	for key, of := range s.inheritances {
		if of.ended(now) {
			s.endInheritance(key)
		}
	}
	for name, slice := range s.slices {
		if slice.own.Expire(slice.cached, now) {
			s.enqueue(slice.owner, causeFor(kindSlice, name, writeLost))
		}
	}
}

// Snapshot returns the fleet as of now. Ok is false before Ready.
func (s *Stored) Snapshot(now time.Time) (snapshot *fleet.Snapshot, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		return nil, false
	}
	snapshot, _ = s.fleet.Snapshot(now)
	return snapshot, true
}

func placementKey(object *clusterv1beta1.Placement) fleet.Key {
	return fleet.Key{Namespace: object.Namespace, Name: object.Name}
}

func sliceKey(object *clusterv1beta1.PlacementDecision) fleet.Key {
	return fleet.Key{Namespace: object.Namespace, Name: object.Name}
}
