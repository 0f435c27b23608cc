package apply

import (
	"context"
	"sync"
)

// Pool bounds the concurrent requests of all owners that share it: its capacity is their number.
type Pool chan struct{}

// Run calls send for the numbers below count, concurrently, and returns after the last call. It starts no more calls once ctx ends.
func (p Pool) Run(ctx context.Context, count int, send func(i int)) {
	var running sync.WaitGroup
	defer running.Wait()
	for i := range count {
		select {
		case p <- struct{}{}:
		case <-ctx.Done():
			return
		}
		running.Go(func() {
			defer func() { <-p }()
			send(i)
		})
	}
}
