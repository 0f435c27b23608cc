package pages

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/apiserver/viewcache"
)

// pauseTime is the least time between two versions. Pages get faster changes together.
const pauseTime = time.Second

// changes counts the versions of what pages show. A heartbeat is no change.
type changes struct {
	views *viewcache.Cache
	clock clock.WithTicker
	noted chan struct{}

	mu      sync.Mutex
	version uint64
	changed chan struct{}
}

func newChanges(views *viewcache.Cache, clock clock.WithTicker) *changes {
	return &changes{views: views, clock: clock, noted: make(chan struct{}, 1), version: 1, changed: make(chan struct{})}
}

// note reports that an object changed.
func (c *changes) note() {
	select {
	case c.noted <- struct{}{}:
	default: // one is waiting already
	}
}

// current returns the version, and a channel that is closed at the next.
func (c *changes) current() (version uint64, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version, c.changed
}

// run makes versions until the context ends.
func (c *changes) run(ctx context.Context) error {
	for seen := c.views.Current(); ; {
		_, _, viewsChanged := c.views.Since(seen)
		select {
		case <-ctx.Done():
			return nil
		case <-viewsChanged:
		case <-c.noted:
		}
		seen = c.views.Current()
		c.mu.Lock()
		c.version++
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-c.clock.After(pauseTime):
		}
	}
}
