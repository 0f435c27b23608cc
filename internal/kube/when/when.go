// Package when compares instants and delays. Their zero value means never.
package when

import "time"

// Earliest returns the first of some instants. The zero time counts as never, and is returned where no instant is set.
func Earliest(instants ...time.Time) time.Time {
	var out time.Time
	for _, instant := range instants {
		if !instant.IsZero() && (out.IsZero() || instant.Before(out)) {
			out = instant
		}
	}
	return out
}

// Shortest returns the shortest of some delays. Delays of 0 and less count as never; without another it returns 0.
func Shortest(delays ...time.Duration) time.Duration {
	var out time.Duration
	for _, delay := range delays {
		if delay > 0 && (out == 0 || delay < out) {
			out = delay
		}
	}
	return out
}

// NotAfter returns an instant that another clock has written, or limit where it is later. The zero time stays.
func NotAfter(instant, limit time.Time) time.Time {
	if instant.After(limit) {
		return limit
	}
	return instant
}
