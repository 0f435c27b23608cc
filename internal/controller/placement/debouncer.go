package placement

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/engine/fleet"
)

const (
	// quietPeriod is for how long no score may have changed before those are decided who wait for scores alone.
	quietPeriod = 100 * time.Millisecond
	// maxScoreDelay is how long they wait for that at most, from the first change on.
	maxScoreDelay = 5 * time.Second
)

// scoreDebouncer holds back placements of which nothing but scores is new, until scores have been quiet for a moment: whoever
// publishes them does so for one cluster after the other, and each may move a decision. All placements wait for the same
// moment. One that waited for its own would mostly have it between two scores of a stream, since it reads those of a few
// clusters only. Its methods may be called from any goroutine.
type scoreDebouncer struct {
	clock clock.WithDelayedExecution
	// enqueue is called for each placement once scores are quiet. It must not call back.
	enqueue func(fleet.Key)

	mu sync.Mutex
	// batch is nil while scores are quiet.
	batch *batch
}

// batch is changes of scores that are answered together.
type batch struct {
	keys  map[fleet.Key]struct{}
	timer clock.Timer
	// deadline is when it ends though scores go on changing.
	deadline time.Time
}

func newScoreDebouncer(clock clock.WithDelayedExecution, over func(fleet.Key)) *scoreDebouncer {
	return &scoreDebouncer{clock: clock, enqueue: over}
}

// add notes that a score changed which a placement reads.
func (g *scoreDebouncer) add(key fleet.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, w := g.clock.Now(), g.batch
	if w == nil {
		w = &batch{keys: map[fleet.Key]struct{}{}, deadline: now.Add(maxScoreDelay)}
		w.timer = g.clock.AfterFunc(quietPeriod, func() { g.flush(w) })
		g.batch = w
	} else {
		w.timer.Reset(min(quietPeriod, w.deadline.Sub(now)))
	}
	w.keys[key] = struct{}{}
}

// flush ends a wave, unless it is over: a timer may go off while it is set anew.
func (g *scoreDebouncer) flush(w *batch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.batch != w {
		return
	}
	g.batch = nil
	for key := range w.keys {
		g.enqueue(key)
	}
}

// remove lets a placement wait no more. Whoever calls it must look at the scores only afterwards: those that change from then
// on are gathered anew.
func (g *scoreDebouncer) remove(key fleet.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.batch != nil {
		delete(g.batch.keys, key)
	}
}
