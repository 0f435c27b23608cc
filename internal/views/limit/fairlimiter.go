package limit

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrTooMany reports that the maximum of requests of a user is waiting already.
var ErrTooMany = errors.New("too many requests of this user are waiting")

// FairLimiter limits the slow requests that run at the same time. Waiting users get free slots by turns. It is safe for concurrent use.
type FairLimiter struct {
	// limit is the number of slots, perUser the maximum of one user, and maxWaiting the maximum of waiting requests of one user.
	limit, perUser, maxWaiting int

	mu      sync.Mutex
	running map[string]int
	total   int
	// queues are the waiting requests by user, the oldest first. order is the users with waiting requests, the next first.
	queues map[string][]chan struct{}
	order  []string
}

// NewFairLimiter returns a limiter with all slots free.
func NewFairLimiter(most, each, waiting int) *FairLimiter {
	return &FairLimiter{limit: most, perUser: each, maxWaiting: waiting, running: map[string]int{}, queues: map[string][]chan struct{}{}}
}

// Acquire waits for a slot. The caller must call release once, unless there is an error: ErrTooMany, or the one of ctx.
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

// grant gives free slots to the waiting users by turns.
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

// leave removes a request from its queue, or releases its slot where it was granted one meanwhile.
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
