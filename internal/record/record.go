package record

import (
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source/live"
)

// Options configures a Record.
type Options struct {
	Clock clock.PassiveClock
	// Reader reads from the API server itself, for answers while this process does not decide.
	Reader client.Reader
	Env    *celenv.Env
}

// Record is the memory of one manager. Its methods may be called from any goroutine.
type Record struct {
	options Options
	runs    *runCache
	history *history
	causes  *pendingCauses
	leader  atomic.Pointer[leaderState]
	// reading has room for the one answer at a time that reads the whole fleet.
	reading chan struct{}
}

// leaderState is the world of a manager that decides, and since when it does.
type leaderState struct {
	world *live.State
	since time.Time
}

// New returns an empty record.
func New(options Options) *Record {
	return &Record{
		options: options, runs: newRunCache(maxCells, maxAge), history: newHistory(maxChanges, maxBytes), causes: newPendingCauses(),
		reading: make(chan struct{}, 1),
	}
}

// SetLeader tells the record that this process decides from now on, by a world that is ready.
func (r *Record) SetLeader(world *live.State) {
	r.leader.Store(&leaderState{world: world, since: r.options.Clock.Now()})
}

// IsLeader reports whether this process decides.
func (r *Record) IsLeader() bool { return r.leader.Load() != nil }

// AddCause notes what woke a placement.
func (r *Record) AddCause(key fleet.Key, cause explain.Cause) {
	r.causes.add(key, cause, r.options.Clock.Now())
}

// Forget forgets the run of a placement that is not decided any more. What is known of its changes stays.
func (r *Record) Forget(key fleet.Key) {
	r.runs.forget(key)
	r.causes.take(key)
}

// Attempt is a placement's turn to be decided.
type Attempt struct {
	record *Record
	key    fleet.Key
	causes wakeCauses
	// before is the run whose result was stored last, without one where it is not known. last is the run of this turn.
	before, last Run
}

// Begin begins a turn: what woke the placement until now belongs to it.
func (r *Record) Begin(key fleet.Key) *Attempt {
	return &Attempt{record: r, key: key, causes: r.causes.take(key), before: r.runs.stored(key)}
}

// Since returns when the first change came that woke the placement for this turn. Ok is false where none did: time alone.
func (t *Attempt) Since() (first time.Time, ok bool) { return t.causes.since, !t.causes.since.IsZero() }

// Decided notes the run of a case, which is to be stored yet.
func (t *Attempt) Decided(c live.Input, result *engine.Result) {
	t.last = Run{Placement: c.Stored.Placement, Result: result, changes: c.Changes}
	t.record.runs.put(t.key, t.last, t.before)
}

// Failed ends a turn of which not everything was stored. What woke the placement belongs to the next one too.
func (t *Attempt) Failed() { t.record.causes.putBack(t.key, t.causes) }

// Stored ends a turn. Where it moved anybody it notes the change and returns it.
func (t *Attempt) Stored(written plan.Plan) (change Change, moved bool) {
	t.record.runs.put(t.key, t.last, t.last)
	if len(written.Added)+len(written.Removed)+len(written.Regrouped) == 0 {
		return Change{}, false
	}
	change = t.change(written, t.record.options.Clock.Now())
	t.record.history.add(t.key, &change)
	return change, true
}
