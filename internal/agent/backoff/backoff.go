// Package backoff spreads the retries of the agents of a fleet in time.
//
// It owns the delays and how to wait for them. Randomness and the clock are arguments. A delay is never above its limit.
package backoff

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

const (
	// maxDoublings keeps the products below from overflowing.
	maxDoublings = 16
	// maxRefusedIntervals is the most intervals that an agent waits after the hub has refused a report.
	maxRefusedIntervals = 8
)

// FullJitter returns a random delay before the next attempt: from 0 up to base, doubled with each failure, and up to limit.
// random is from 0 up to 1.
func FullJitter(failures int, base, limit time.Duration, random float64) time.Duration {
	upper := min(base<<min(max(failures-1, 0), maxDoublings), limit)
	return time.Duration(random * float64(upper))
}

// Spread returns up to a tenth less than an interval: agents that started together spread. random is from 0 up to 1.
func Spread(interval time.Duration, random float64) time.Duration {
	return interval - time.Duration(random*float64(interval)/10)
}

// AfterRefusals returns the pause after refusals in a row by the hub: an interval, doubled with each further one, and up to eight
// intervals.
func AfterRefusals(interval time.Duration, refusals int) time.Duration {
	return interval * time.Duration(min(1<<min(max(refusals-1, 0), maxDoublings), maxRefusedIntervals))
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
