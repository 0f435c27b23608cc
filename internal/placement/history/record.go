package history

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
	"github.com/berth-project/berth/internal/placement/live"
)

// Options configures a Record.
type Options struct {
	Clock clock.PassiveClock
	// Reader reads from the API server. It serves queries while this process is not the leader.
	Reader client.Reader
	Env    *celenv.Env
}

// Record holds the runs and the history of one manager. It is safe for concurrent use.
type Record struct {
	options Options
	runs    *runCache
	history *history
	causes  *pendingCauses
	leader  atomic.Pointer[leaderState]
	// reading is a semaphore: one query at a time reads the whole fleet.
	reading chan struct{}
}

// leaderState is what a leader has of the hub, and since when it is the leader.
type leaderState struct {
	stored *live.Stored
	since  time.Time
}

// New returns an empty record.
func New(options Options) *Record {
	return &Record{
		options: options, runs: newRunCache(maxCells, maxAge), history: newHistory(maxChanges, maxBytes), causes: newPendingCauses(),
		reading: make(chan struct{}, 1),
	}
}

// SetLeader sets what this process has of the hub, which must be ready. The process becomes the leader.
func (r *Record) SetLeader(stored *live.Stored) {
	r.leader.Store(&leaderState{stored: stored, since: r.options.Clock.Now()})
}

// IsLeader reports whether this process is the leader.
func (r *Record) IsLeader() bool { return r.leader.Load() != nil }

// AddCause adds a cause of the next attempt of a placement.
func (r *Record) AddCause(key fleet.Key, cause explain.Cause) {
	r.causes.add(key, cause, r.options.Clock.Now())
}

// Remove drops the run of a placement that is gone or that Berth does not decide any more. Its history stays.
func (r *Record) Remove(key fleet.Key) {
	r.runs.remove(key)
	r.causes.take(key)
}

// Attempt is one attempt to decide a placement.
type Attempt struct {
	record *Record
	key    fleet.Key
	causes wakeCauses
	// before is the run whose result was stored last; its Result is nil if it is unknown. last is the run of this attempt.
	before, last Run
}

// Outcome is what an attempt changed.
type Outcome struct {
	// Change is nil if no cluster moved.
	Change *Change
	// Latency is the time since the first change that enqueued the placement; negative if only a deadline did.
	Latency time.Duration
}

// Cause returns the kind of the first cause of the change; empty if no cluster moved.
func (o Outcome) Cause() string {
	if o.Change == nil {
		return ""
	}
	return o.Change.Causes[0].Kind
}

// Begin starts an attempt. It takes the causes that enqueued the placement so far.
func (r *Record) Begin(key fleet.Key) *Attempt {
	return &Attempt{record: r, key: key, causes: r.causes.take(key), before: r.runs.stored(key)}
}

// Decided records the run before its plan is applied, so that it is explained while the writes are sent.
func (a *Attempt) Decided(c live.Input, result *engine.Result) {
	a.last = Run{Placement: c.Stored.Placement, Result: result, changes: c.Changes}
	a.record.runs.put(a.key, a.last, a.before)
}

// Finish ends the attempt. After an error its causes belong to the next attempt. Otherwise the plan is stored: if a cluster
// moved, Finish adds the change to the history.
func (a *Attempt) Finish(written plan.Plan, err error) Outcome {
	if err != nil {
		a.record.causes.putBack(a.key, a.causes)
		return Outcome{Latency: -1}
	}
	now := a.record.options.Clock.Now()
	out := Outcome{Latency: -1}
	if !a.causes.since.IsZero() {
		out.Latency = now.Sub(a.causes.since)
	}
	a.record.runs.put(a.key, a.last, a.last)
	if len(written.Added)+len(written.Removed)+len(written.Regrouped) > 0 {
		change := a.change(written, now)
		a.record.history.add(a.key, &change)
		out.Change = &change
	}
	return out
}
