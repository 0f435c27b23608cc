// Package lease renews the lease by which a hub observes that an agent lives.
//
// It changes only the times and the count of renewals and never creates the lease, which is the hub's. No other agent acquires that lease,
// so that spec.acquireTime is free: it has when all works were last verified. The count shows that the hub returned to older data; an agent
// outside of its member has a lease there for the same. The invariant: the lease of a cluster that the hub does not accept is not renewed.
package lease

import "time"

const (
	defaultSeconds = 60
	maxSeconds     = 3600
	// jitter is the largest part of the period that is added at random.
	jitter = 0.25
)

// Period returns the time from one renewal to the next. The hub reads leaseDurationSeconds with the same bounds: 0 and below is
// 60, above 3600 is 3600. random is from 0 up to 1.
func Period(leaseDurationSeconds int32, random float64) time.Duration {
	period := Duration(leaseDurationSeconds)
	return period + time.Duration(jitter*random*float64(period))
}

// Duration returns the period of a lease without jitter.
func Duration(leaseDurationSeconds int32) time.Duration {
	seconds := leaseDurationSeconds
	if seconds <= 0 {
		seconds = defaultSeconds
	}
	return time.Duration(min(seconds, maxSeconds)) * time.Second
}

// retryLimit returns the longest pause after a failed renewal. A pause longer than the lease would miss a renewal for nothing.
func retryLimit(leaseDurationSeconds int32) time.Duration {
	return min(maxRetry, Duration(leaseDurationSeconds))
}
