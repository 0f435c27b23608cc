package history

import (
	"slices"
	"sync"
	"time"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
)

// maxCauses is how many causes of one attempt are kept by name.
const maxCauses = 4

// wakeCauses is why a placement was enqueued: the first causes, the number of further ones, and the time of the first.
type wakeCauses struct {
	named []explain.Cause
	more  int
	since time.Time
}

func (w *wakeCauses) add(cause explain.Cause) {
	switch {
	case slices.Contains(w.named, cause):
	case len(w.named) < maxCauses:
		w.named = append(w.named, cause)
	default:
		w.more++
	}
}

// pendingCauses holds the causes of the placements that wait for an attempt.
type pendingCauses struct {
	mu      sync.Mutex
	pending map[fleet.Key]*wakeCauses
}

func newPendingCauses() *pendingCauses { return &pendingCauses{pending: map[fleet.Key]*wakeCauses{}} }

func (c *pendingCauses) add(key fleet.Key, cause explain.Cause, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.pending[key]
	if !ok {
		w = &wakeCauses{since: now}
		c.pending[key] = w
	}
	w.add(cause)
}

// waits reports whether a placement waits for an attempt.
func (c *pendingCauses) waits(key fleet.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, waits := c.pending[key]
	return waits
}

func (c *pendingCauses) take(key fleet.Key) wakeCauses {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.pending[key]
	if !ok {
		return wakeCauses{}
	}
	delete(c.pending, key)
	return *w
}

// putBack puts back taken causes, ahead of the causes that were added since.
func (c *pendingCauses) putBack(key fleet.Key, taken wakeCauses) {
	if len(taken.named) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if since, ok := c.pending[key]; ok {
		for _, cause := range since.named {
			taken.add(cause)
		}
		taken.more += since.more
	}
	c.pending[key] = &taken
}
