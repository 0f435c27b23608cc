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
func (f *FairLimiter) Acquire(ctx context.Context, user string) (release func(), err error) {
	f.mu.Lock()
	if len(f.queues[user]) >= f.maxWaiting {
		f.mu.Unlock()
		return nil, ErrTooMany
	}
	granted := make(chan struct{})
	if len(f.queues[user]) == 0 {
		f.order = append(f.order, user)
	}
	f.queues[user] = append(f.queues[user], granted)
	f.grant()
	f.mu.Unlock()
	select {
	case <-granted:
		return func() { f.release(user) }, nil
	case <-ctx.Done():
		f.leave(user, granted)
		return nil, ctx.Err() //nolint:wrapcheck // the caller compares it
	}
}

// grant gives free slots to the waiting users by turns.
func (f *FairLimiter) grant() {
	for f.total < f.limit {
		at := slices.IndexFunc(f.order, func(user string) bool { return f.running[user] < f.perUser })
		if at < 0 {
			return
		}
		user := f.order[at]
		f.order = slices.Delete(f.order, at, at+1)
		close(f.queues[user][0])
		if f.queues[user] = f.queues[user][1:]; len(f.queues[user]) > 0 {
			f.order = append(f.order, user)
		} else {
			delete(f.queues, user)
		}
		f.running[user]++
		f.total++
	}
}

func (f *FairLimiter) release(user string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total--
	if f.running[user]--; f.running[user] == 0 {
		delete(f.running, user)
	}
	f.grant()
}

// leave removes a request from its queue, or releases its slot where it was granted one meanwhile.
func (f *FairLimiter) leave(user string, granted chan struct{}) {
	f.mu.Lock()
	at := slices.Index(f.queues[user], granted)
	if at < 0 {
		f.mu.Unlock()
		f.release(user)
		return
	}
	defer f.mu.Unlock()
	if f.queues[user] = slices.Delete(f.queues[user], at, at+1); len(f.queues[user]) == 0 {
		delete(f.queues, user)
		f.order = slices.DeleteFunc(f.order, func(waiting string) bool { return waiting == user })
	}
}
