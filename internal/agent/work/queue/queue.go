// Package queue orders the works that an agent looks at: news first, then failed works, then routine.
//
// It owns the order and the times. A key is never with two workers at once, and waits at most once. Keys are bounded by the works of one
// cluster.
package queue

import (
	"cmp"
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/agent/broadcast"
)

// Priority is how urgent a key is. Smaller is sooner.
type Priority int

// Priorities.
const (
	// News is a work that changed, or an object of it.
	News Priority = iota
	// Retry is a work that failed.
	Retry
	// Routine is a work that is only compared again.
	Routine
)

// idle is how long a worker waits without a key.
const idle = time.Hour

// Queue is a set of keys with times and priorities. It is safe for concurrent use.
type Queue struct {
	clock   clock.Clock
	changed broadcast.Broadcast

	mu      sync.Mutex
	waiting map[string]item
	running map[string]bool
}

type item struct {
	due      time.Time
	priority Priority
	// added orders keys that are due and of one priority.
	added time.Time
}

// New returns an empty queue.
func New(c clock.Clock) *Queue {
	return &Queue{clock: c, waiting: map[string]item{}, running: map[string]bool{}}
}

// Add makes a key due after a delay. A key that waits keeps its earlier time and its more urgent priority.
func (q *Queue) Add(key string, priority Priority, delay time.Duration) {
	q.mu.Lock()
	now := q.clock.Now()
	next := item{due: now.Add(delay), priority: priority, added: now}
	if before, ok := q.waiting[key]; ok {
		if before.due.Before(next.due) {
			next.due = before.due
		}
		next.priority, next.added = min(next.priority, before.priority), before.added
	}
	q.waiting[key] = next
	q.mu.Unlock()
	q.changed.Send()
}

// Run calls sync with each due key, by a number of workers, until the context ends.
func (q *Queue) Run(ctx context.Context, workers int, handle func(context.Context, string)) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for key, ok := q.next(ctx); ok; key, ok = q.next(ctx) {
				handle(ctx, key)
				q.done(key)
			}
		})
	}
	running.Wait()
}

// next waits for a key and hands it out; false when the context ends.
func (q *Queue) next(ctx context.Context) (string, bool) {
	for ctx.Err() == nil {
		changed := q.changed.Changed()
		key, wait, ok := q.take()
		if ok {
			return key, true
		}
		timer := q.clock.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C():
		}
		timer.Stop()
	}
	return "", false
}

// take returns the most urgent key that is due, else how long to wait.
func (q *Queue) take() (key string, wait time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	wait = idle
	var best item
	for each, it := range q.waiting {
		if q.running[each] {
			continue
		}
		if left := it.due.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		if !ok || cmp.Or(cmp.Compare(it.priority, best.priority), it.added.Compare(best.added)) < 0 {
			key, best, ok = each, it, true
		}
	}
	if ok {
		delete(q.waiting, key)
		q.running[key] = true
	}
	return key, wait, ok
}

func (q *Queue) done(key string) {
	q.mu.Lock()
	delete(q.running, key)
	q.mu.Unlock()
	q.changed.Send()
}
