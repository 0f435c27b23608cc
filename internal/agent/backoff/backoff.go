// Package backoff spreads the retries of the agents of a fleet in time.
//
// It owns the delays and how to wait for them. Randomness and the clock are arguments. A delay is never above its limit.
package backoff

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// maxDoublings keeps the product below from overflowing.
const maxDoublings = 16

// FullJitter returns a random delay before the next attempt: from 0 up to base, doubled with each failure, and up to limit.
// random is from 0 up to 1.
func FullJitter(failures int, base, limit time.Duration, random float64) time.Duration {
	upper := min(base<<min(max(failures-1, 0), maxDoublings), limit)
	return time.Duration(random * float64(upper))
}

// Sleep waits, and returns an error when the context ends before.
func Sleep(ctx context.Context, c clock.Clock, delay time.Duration) error {
	if delay <= 0 {
		return ctx.Err()
	}
	timer := c.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// SleepUntil waits like Sleep, and returns early when the channel is closed.
func SleepUntil(ctx context.Context, c clock.Clock, delay time.Duration, changed <-chan struct{}) error {
	if delay <= 0 {
		return ctx.Err()
	}
	timer := c.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-changed:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
