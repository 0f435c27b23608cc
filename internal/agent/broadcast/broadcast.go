// Package broadcast wakes goroutines that wait for a change.
//
// It owns the channel and not the state that changed: a reader takes the channel first and reads the state after it, so that
// it misses no change.
package broadcast

import "sync"

// Broadcast wakes every waiting goroutine. Its zero value is ready. It is safe for concurrent use.
type Broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

// Changed returns a channel that closes at the next Send.
func (b *Broadcast) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

// Send closes the channel that Changed returned.
func (b *Broadcast) Send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
