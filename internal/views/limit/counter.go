package limit

import "sync"

// Counter bounds the open watches of each user and of all users. It is safe for concurrent use.
type Counter struct {
	perUser, limit int

	mu    sync.Mutex
	count map[string]int
	total int
}

// NewCounter returns a counter at zero.
func NewCounter(each, most int) *Counter {
	return &Counter{perUser: each, limit: most, count: map[string]int{}}
}

// Acquire counts one more for a user. The caller must call release once. Ok is false at a limit.
func (c *Counter) Acquire(user string) (release func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total >= c.limit || c.count[user] >= c.perUser {
		return nil, false
	}
	c.total++
	c.count[user]++
	return func() { c.release(user) }, true
}

func (c *Counter) release(user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total--
	if c.count[user]--; c.count[user] == 0 {
		delete(c.count, user)
	}
}
