package limit

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrTooMany reports that a user has as many requests waiting as may wait.
var ErrTooMany = errors.New("too many requests of this user are waiting")

// FairLimiter are places for work that takes long. A user holds at most some of them, and users who wait take turns.
type FairLimiter struct {
	// limit is how many places there are, each how many of them one user may hold, waiting how many requests of one user may
	// wait.
	limit, perUser, maxWaiting int

	mu      sync.Mutex
	running map[string]int
	total   int
	// queues are the requests that wait, by user, the first first; order is the users with one, the next to be served first.
	queues map[string][]chan struct{}
	order  []string
}

// NewFairLimiter returns free places.
func NewFairLimiter(most, each, waiting int) *FairLimiter {
	return &FairLimiter{limit: most, perUser: each, maxWaiting: waiting, running: map[string]int{}, queues: map[string][]chan struct{}{}}
}

// Acquire waits for a place. The caller must call release, once, unless there is an error: ErrTooMany, or that ctx ended.
func (s *FairLimiter) Acquire(ctx context.Context, user string) (release func(), err error) {
	s.mu.Lock()
	if len(s.queues[user]) >= s.maxWaiting {
		s.mu.Unlock()
		return nil, ErrTooMany
	}
	granted := make(chan struct{})
	if len(s.queues[user]) == 0 {
		s.order = append(s.order, user)
	}
	s.queues[user] = append(s.queues[user], granted)
	s.grant()
	s.mu.Unlock()
	select {
	case <-granted:
		return func() { s.release(user) }, nil
	case <-ctx.Done():
		s.leave(user, granted)
		return nil, ctx.Err() //nolint:wrapcheck // the caller compares it
	}
}

// grant gives free places to the users who wait, in turn.
func (s *FairLimiter) grant() {
	for s.total < s.limit {
		at := slices.IndexFunc(s.order, func(user string) bool { return s.running[user] < s.perUser })
		if at < 0 {
			return
		}
		user := s.order[at]
		s.order = slices.Delete(s.order, at, at+1)
		close(s.queues[user][0])
		if s.queues[user] = s.queues[user][1:]; len(s.queues[user]) > 0 {
			s.order = append(s.order, user)
		} else {
			delete(s.queues, user)
		}
		s.running[user]++
		s.total++
	}
}

func (s *FairLimiter) release(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.running[user]--; s.running[user] == 0 {
		delete(s.running, user)
	}
	s.grant()
}

// leave takes a request out of its queue. Where it was granted a place meanwhile, it gives that back.
func (s *FairLimiter) leave(user string, granted chan struct{}) {
	s.mu.Lock()
	at := slices.Index(s.queues[user], granted)
	if at < 0 {
		s.mu.Unlock()
		s.release(user)
		return
	}
	defer s.mu.Unlock()
	if s.queues[user] = slices.Delete(s.queues[user], at, at+1); len(s.queues[user]) == 0 {
		delete(s.queues, user)
		s.order = slices.DeleteFunc(s.order, func(waiting string) bool { return waiting == user })
	}
}
