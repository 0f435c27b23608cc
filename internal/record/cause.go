package record

import (
	"slices"
	"sync"
	"time"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
)

// maxCauses is how many causes of one turn are named.
const maxCauses = 4

// woken is what woke a placement: the first causes, how many there were beside them, and when the very first came.
type woken struct {
	named []explain.Cause
	more  int
	since time.Time
}

func (w *woken) add(cause explain.Cause) {
	switch {
	case slices.Contains(w.named, cause):
	case len(w.named) < maxCauses:
		w.named = append(w.named, cause)
	default:
		w.more++
	}
}

// causes is what woke the placements that have not had their turn yet.
type causes struct {
	mu      sync.Mutex
	pending map[fleet.Key]*woken
}

func newCauses() *causes { return &causes{pending: map[fleet.Key]*woken{}} }

func (c *causes) add(key fleet.Key, cause explain.Cause, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.pending[key]
	if !ok {
		w = &woken{since: now}
		c.pending[key] = w
	}
	w.add(cause)
}

func (c *causes) take(key fleet.Key) woken {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.pending[key]
	if !ok {
		return woken{}
	}
	delete(c.pending, key)
	return *w
}

// restore puts back what was taken, before what has come since.
func (c *causes) restore(key fleet.Key, taken woken) {
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
