package limit

import "sync"

// Counter bounds things that last, such as watches, for each user and in all.
type Counter struct {
	each, most int

	mu   sync.Mutex
	held map[string]int
	all  int
}

// NewCounter returns a counter of nothing.
func NewCounter(each, most int) *Counter {
	return &Counter{each: each, most: most, held: map[string]int{}}
}

// Acquire counts one more of a user. The caller must call release, once. Ok is false where there are too many.
func (c *Counter) Acquire(user string) (release func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= c.most || c.held[user] >= c.each {
		return nil, false
	}
	c.all++
	c.held[user]++
	return func() { c.release(user) }, true
}

func (c *Counter) release(user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.held[user]--; c.held[user] == 0 {
		delete(c.held, user)
	}
}
