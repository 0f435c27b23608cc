package placement

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/engine/fleet"
)

const (
	// quiet is for how long no score may have changed before those are decided who wait for scores alone.
	quiet = 100 * time.Millisecond
	// longest is how long they wait for that at most, from the first change on.
	longest = 5 * time.Second
)

// gathering holds back placements of which nothing but scores is new, until scores have been quiet for a moment: whoever
// publishes them does so for one cluster after the other, and each may move a decision. All placements wait for the same
// moment. One that waited for its own would mostly have it between two scores of a stream, since it reads those of a few
// clusters only. Its methods may be called from any goroutine.
type gathering struct {
	clock clock.WithDelayedExecution
	// over is called for each placement once scores are quiet. It must not call back.
	over func(fleet.Key)

	mu sync.Mutex
	// wave is nil while scores are quiet.
	wave *wave
}

// wave is changes of scores that are answered together.
type wave struct {
	waiting map[fleet.Key]struct{}
	timer   clock.Timer
	// until is when it ends though scores go on changing.
	until time.Time
}

func newGathering(clock clock.WithDelayedExecution, over func(fleet.Key)) *gathering {
	return &gathering{clock: clock, over: over}
}

// add notes that a score changed which a placement reads.
func (g *gathering) add(key fleet.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, w := g.clock.Now(), g.wave
	if w == nil {
		w = &wave{waiting: map[fleet.Key]struct{}{}, until: now.Add(longest)}
		w.timer = g.clock.AfterFunc(quiet, func() { g.end(w) })
		g.wave = w
	} else {
		w.timer.Reset(min(quiet, w.until.Sub(now)))
	}
	w.waiting[key] = struct{}{}
}

// end ends a wave, unless it is over: a timer may go off while it is set anew.
func (g *gathering) end(w *wave) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wave != w {
		return
	}
	g.wave = nil
	for key := range w.waiting {
		g.over(key)
	}
}

// drop lets a placement wait no more. Whoever calls it must look at the scores only afterwards: those that change from then
// on are gathered anew.
func (g *gathering) drop(key fleet.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wave != nil {
		delete(g.wave.waiting, key)
	}
}
