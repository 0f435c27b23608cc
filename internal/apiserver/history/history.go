package history

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/apiserver/visibility"
)

const (
	// memory is how long a world is remembered after another took its place.
	memory = 5 * time.Minute
	// capacity is how many changes are remembered at most.
	capacity = 4096
	// maxStaged is how many changes wait to be published at most: nothing publishes them before the server serves.
	maxStaged = 1024
	// pace is the least time between two worlds. Changes that come faster are published together.
	pace = 50 * time.Millisecond
)

// ErrExpired says that a revision is not, or no longer, known.
var ErrExpired = errors.New("the resource version is too old, or of another server")

// Moment is a world under the revision by which a reader may ask for it again.
type Moment struct {
	World    *visibility.Snapshot
	Revision uint64
	// since is the revision at which the world came to be.
	since uint64
}

// Partial returns a revision for a reader that has got some of the changes that led to the moment, but not all. Lists
// may be asked for by it; going on from it is refused.
func (m Moment) Partial() uint64 { return m.since - unit | partial }

// Since returns the revision at which the world of the moment came to be.
func (m Moment) Since() uint64 { return m.since }

// state is a world, since when it is, and what made it differ from the one before.
type state struct {
	world    *visibility.Snapshot
	revision uint64
	delta    visibility.Delta
}

// History is the worlds of the last minutes. Its methods may be called from any goroutine.
type History struct {
	clock  clock.WithTicker
	keeper Keeper
	dirty  chan struct{}
	ended  chan struct{}

	mu     sync.Mutex
	staged []func(*visibility.Edit)
	// states is never empty; the last is the present.
	states []state
	weight int
	// last is the highest revision that anybody got.
	last    uint64
	changed chan struct{}
}

// New returns a history in which nothing is there yet.
func New(clock clock.WithTicker, keeper Keeper) *History {
	h := &History{
		clock: clock, keeper: keeper,
		dirty: make(chan struct{}, 1), ended: make(chan struct{}), changed: make(chan struct{}),
	}
	h.last = keeper.revision(milliseconds(clock.Now()))
	h.states = []state{{world: visibility.Empty(), revision: h.last}}
	return h
}

// Stage notes a change, to be published with others.
func (h *History) Stage(change func(*visibility.Edit)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.staged = append(h.staged, change)
	if len(h.staged) >= maxStaged {
		h.publish()
		return
	}
	select {
	case h.dirty <- struct{}{}:
	default:
	}
}

// Run publishes what is staged until ctx ends.
func (h *History) Run(ctx context.Context) {
	defer close(h.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.dirty:
			h.Publish()
		}
		select {
		case <-ctx.Done():
			return
		case <-h.clock.After(pace):
		}
	}
}

// Ended closes when no world will follow any more.
func (h *History) Ended() <-chan struct{} { return h.ended }

// Publish makes a world of the present one and what is staged.
func (h *History) Publish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.publish()
}

func (h *History) publish() {
	if len(h.staged) == 0 {
		return
	}
	revision := h.keeper.revision(max(millisecondsOf(h.last)+1, milliseconds(h.clock.Now())))
	edit := h.present().world.Edit(revision)
	for _, change := range h.staged {
		change(edit)
	}
	h.staged = nil
	world, delta := edit.Snapshot()
	if delta.Count == 0 {
		return
	}
	h.last = revision
	h.states = append(h.states, state{world: world, revision: revision, delta: delta})
	h.weight += delta.Count
	h.forget()
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *History) present() state { return h.states[len(h.states)-1] }

// forget drops the oldest worlds that were superseded too long ago, or too many changes ago.
func (h *History) forget() {
	oldest := milliseconds(h.clock.Now().Add(-memory))
	count := 0
	for count < len(h.states)-1 && (h.weight > capacity || millisecondsOf(h.states[count+1].revision) < oldest) {
		// What led from a world to the next is not needed without the former.
		h.weight -= h.states[count+1].delta.Count
		count++
	}
	h.states = slices.Delete(h.states, 0, count) // which clears what it frees
}

// Now returns the present, and a channel that closes when another takes its place.
func (h *History) Now() (moment Moment, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = h.keeper.revision(max(millisecondsOf(h.last), milliseconds(h.clock.Now())))
	present := h.present()
	return Moment{World: present.world, Revision: h.last, since: present.revision}, h.changed
}

// At returns the moment that has a revision, or ErrExpired.
func (h *History) At(revision uint64) (Moment, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget()
	if revision&partial != 0 || !h.known(revision) || revision < h.states[0].revision {
		return Moment{}, ErrExpired
	}
	at, found := h.search(revision)
	if !found {
		at--
	}
	return Moment{World: h.states[at].world, Revision: revision, since: h.states[at].revision}, nil
}

// Known says whether a revision, also a partial one, is of this history, so that the present is not older.
func (h *History) Known(revision uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known(revision)
}

func (h *History) known(revision uint64) bool {
	return h.keeper.kept(revision) && revision&^partial <= h.last
}

// search returns where the world since a revision is, or would be.
func (h *History) search(revision uint64) (at int, found bool) {
	return slices.BinarySearchFunc(h.states, revision, func(s state, r uint64) int { return cmp.Compare(s.revision, r) })
}

// Between returns how the world of a moment differs from that of a later one.
func (h *History) Between(earlier, later Moment) visibility.Delta {
	h.mu.Lock()
	defer h.mu.Unlock()
	from, found := h.search(earlier.since)
	if !found { // forgotten
		return visibility.Delta{AffectsAll: true}
	}
	delta := visibility.Delta{}
	for _, state := range h.states[from+1:] {
		if state.revision > later.since {
			break
		}
		delta.Add(state.delta)
	}
	return delta
}
