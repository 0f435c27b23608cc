package placement

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/engine/fleet"
)

const (
	// quietPeriod is how long no score may change before the waiting placements are enqueued.
	quietPeriod = 100 * time.Millisecond
	// maxScoreDelay bounds the delay, from the first change on.
	maxScoreDelay = 5 * time.Second
)

// scoreDebouncer delays placements whose only change is a score until no score has changed for 100 ms, at most 5 s. A publisher of
// scores writes one cluster after the other, and each score may move a decision. All placements share one delay: a placement reads
// the scores of a few clusters only, so a delay of its own would mostly end in the middle of a burst. It is safe for concurrent use.
type scoreDebouncer struct {
	clock clock.WithDelayedExecution
	// enqueue is called for each placement at the end of the delay. It must not call back.
	enqueue func(fleet.Key)

	mu sync.Mutex
	// batch is nil if no placement waits.
	batch *batch
}

// batch is the placements that are enqueued together.
type batch struct {
	keys  map[fleet.Key]struct{}
	timer clock.Timer
	// deadline is when the batch ends although scores still change.
	deadline time.Time
}

func newScoreDebouncer(clock clock.WithDelayedExecution, over func(fleet.Key)) *scoreDebouncer {
	return &scoreDebouncer{clock: clock, enqueue: over}
}

// add delays a placement that reads a changed score.
func (s *scoreDebouncer) add(key fleet.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, w := s.clock.Now(), s.batch
	if w == nil {
		w = &batch{keys: map[fleet.Key]struct{}{}, deadline: now.Add(maxScoreDelay)}
		w.timer = s.clock.AfterFunc(quietPeriod, func() { s.flush(w) })
		s.batch = w
	} else {
		w.timer.Reset(min(quietPeriod, w.deadline.Sub(now)))
	}
	w.keys[key] = struct{}{}
}

// flush enqueues a batch, unless it has ended: a timer may fire while it is reset.
func (s *scoreDebouncer) flush(w *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.batch != w {
		return
	}
	s.batch = nil
	for key := range w.keys {
		s.enqueue(key)
	}
}

// remove removes a placement from the batch. The caller must read the scores afterwards: a later change adds the placement again.
func (s *scoreDebouncer) remove(key fleet.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.batch != nil {
		delete(s.batch.keys, key)
	}
}
