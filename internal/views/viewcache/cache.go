// Package viewcache owns the current snapshot of what callers may see, and the snapshots of the last minutes, from which
// watches may start.
//
// It does not depend on the callers. A revision is the time and the ID of this cache, so it reveals nothing about objects that
// a caller may not see. A revision of an earlier process or of another replica is recognized and rejected. No event is
// queued: a watcher compares its snapshot with the current one, so a slow watcher costs one snapshot.
package viewcache

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/views/visibility"
)

const (
	// retention is how long watches may start from a state after another has replaced it.
	retention = 5 * time.Minute
	// maxChanges bounds the changes between the oldest state and the current one.
	maxChanges = 4096
	// maxStaged bounds the changes that wait to be published. Before the server serves, nothing else publishes them.
	maxStaged = 1024
	// publishInterval is the least time between two states. Faster changes are published together.
	publishInterval = 50 * time.Millisecond
)

// A revision is, from the highest bit: the time in milliseconds, the ID of the cache, and a bit that is set for a complete
// state.
const (
	instanceBits = 20
	tick         = uint64(1) << (instanceBits + 1)
)

// ErrExpired reports a revision that is not, or no longer, known.
var ErrExpired = errors.New("the resource version is too old, or of another server")

// State is a snapshot and its revision.
type State struct {
	Snapshot *visibility.Snapshot
	Revision uint64

	// delta is the difference to the state before.
	delta visibility.Delta
}

// PartialRevision is for a watcher that has received only some of the events that lead to the state. It is greater than the
// revision of every earlier state. No watch starts from it.
func (s State) PartialRevision() uint64 { return s.Revision - 1 }

// Cache holds the current state and earlier ones. It is safe for concurrent use.
type Cache struct {
	clock clock.WithTicker
	// suffix is the part of a revision after the time.
	suffix uint64
	dirty  chan struct{}
	done   chan struct{}

	mu     sync.Mutex
	staged []func(*visibility.Edit)
	// states are sorted by revision and never empty. The last is the current one.
	states []State
	// changes counts the changes between the first state and the last.
	changes int
	changed chan struct{}
}

// New returns a cache with an empty snapshot. The low 20 bits of the ID distinguish it from the caches of other replicas and
// of earlier processes.
func New(clock clock.WithTicker, instanceID uint32) *Cache {
	c := &Cache{
		clock: clock, suffix: uint64(instanceID)<<1&(tick-1) | 1,
		dirty: make(chan struct{}, 1), done: make(chan struct{}), changed: make(chan struct{}),
	}
	c.states = []State{{Snapshot: visibility.Empty(), Revision: c.revision(clock.Now())}}
	return c
}

func (c *Cache) revision(t time.Time) uint64 {
	return uint64(max(0, t.UnixMilli()))*tick | c.suffix
}

// Stage adds a change to those that the next state contains.
func (c *Cache) Stage(change func(*visibility.Edit)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.staged = append(c.staged, change)
	if len(c.staged) >= maxStaged {
		c.publish()
		return
	}
	select {
	case c.dirty <- struct{}{}:
	default:
	}
}

// Run publishes the staged changes until ctx ends.
func (c *Cache) Run(ctx context.Context) {
	defer close(c.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.dirty:
			c.Publish()
		}
		select {
		case <-ctx.Done():
			return
		case <-c.clock.After(publishInterval):
		}
	}
}

// Done closes when Run has ended. No state follows then.
func (c *Cache) Done() <-chan struct{} { return c.done }

// Publish makes a state of the current one and the staged changes.
func (c *Cache) Publish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.publish()
}

func (c *Cache) publish() {
	revision := max(c.current().Revision+tick, c.revision(c.clock.Now()))
	edit := c.current().Snapshot.Edit(revision)
	for _, change := range c.staged {
		change(edit)
	}
	c.staged = nil
	snapshot, delta := edit.Snapshot()
	if delta.Count == 0 {
		return
	}
	c.states = append(c.states, State{Snapshot: snapshot, Revision: revision, delta: delta})
	c.changes += delta.Count
	c.trim()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Cache) current() State { return c.states[len(c.states)-1] }

// trim drops states that another replaced too long ago, or too many changes ago.
func (c *Cache) trim() {
	oldest := c.revision(c.clock.Now().Add(-retention))
	count := 0
	for count < len(c.states)-1 && (c.changes > maxChanges || c.states[count+1].Revision < oldest) {
		count++
		c.changes -= c.states[count].delta.Count
	}
	c.states = slices.Delete(c.states, 0, count) // which clears what it frees
}

// Current returns the current state.
func (c *Cache) Current() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current()
}

// Since returns the current state, its difference to an earlier state, and a channel that closes when another state follows.
func (c *Cache) Since(earlier State) (current State, delta visibility.Delta, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delta.AffectsAll = earlier.Revision < c.states[0].Revision
	for _, state := range slices.Backward(c.states) {
		if state.Revision <= earlier.Revision {
			break
		}
		delta.Add(state.delta)
	}
	return c.current(), delta, c.changed
}

// At returns the state that a watch from a revision starts with, or ErrExpired.
func (c *Cache) At(revision uint64) (State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim()
	for _, state := range c.states {
		if state.Revision == revision {
			return state, nil
		}
	}
	return State{}, ErrExpired
}

// Reached reports whether a revision is of this cache, so that the current state is not older.
func (c *Cache) Reached(revision uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (revision|1)%tick == c.suffix && revision <= c.current().Revision
}
