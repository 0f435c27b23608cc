package work

import (
	"time"

	"github.com/berth-project/berth/internal/agent/backoff"
	"github.com/berth-project/berth/internal/agent/work/plan"
)

const (
	// settleTime collects changes of objects that come together.
	settleTime = 100 * time.Millisecond
	minDelay   = 10 * time.Millisecond
	// A failed manifest is tried again after minRetry, doubled with each failure, up to maxRetry.
	minRetry = 2 * time.Second
	maxRetry = 5 * time.Minute
	// forbiddenRetry is when a refused write is tried again: permissions change without an event.
	forbiddenRetry = 60 * time.Second
	// compareInterval is how often a work is compared without an event, pollInterval the same for a work with objects that cannot be watched.
	compareInterval = 6 * time.Hour
	pollInterval    = 60 * time.Second
	// statusBytesPerSecond spreads the writes of large works.
	statusBytesPerSecond = 50 << 10
	maxDoublings         = 12
)

// retryDelay returns the delay after a number of failures in a row.
func retryDelay(failures int, random float64) time.Duration {
	return minRetry + backoff.FullJitter(failures, minRetry, time.Minute, random)
}

// retryAfter returns when a failed manifest is tried again.
func retryAfter(code plan.Code, attempts int) time.Duration {
	if code == plan.Forbidden || code == plan.Conflicting {
		return forbiddenRetry
	}
	return min(minRetry<<min(max(attempts-1, 0), maxDoublings), maxRetry)
}
