// Package member reads the member: its health, version, nodes and claims.
//
// It owns the caches of these and writes nothing to the member. The invariant: a failed reading removes nothing. What was read
// before stays until a complete reading replaces it.
package member

import (
	"fmt"
	"net/http"
	"time"
)

const (
	// failureThreshold is how long probes fail before the member counts as unavailable.
	failureThreshold = 20 * time.Second
	// probeInterval and retryInterval are the pauses after a probe that succeeded and after a failed probe.
	probeInterval = 10 * time.Second
	retryInterval = 5 * time.Second
	// maxProbeText bounds the response of a probe in the message of a condition.
	maxProbeText = 256
)

// Health is the result of the probes of the member's API server.
type Health struct {
	// Known is false until a probe succeeds or fails for long enough.
	Known   bool
	Healthy bool
	// Message describes the failure.
	Message string
	// Reached is whether the last probe had a response about the health of the member, good or bad: 200, or the 500 of an API server
	// with a failed check. Proxies and refused credentials are no such response.
	Reached bool

	// failingSince is when the first of the failed probes in a row failed.
	failingSince time.Time
}

// observe returns the health after one more probe. An empty failure is a success.
func (h Health) observe(failure string, now time.Time) Health {
	if failure == "" {
		return Health{Known: true, Healthy: true}
	}
	if h.failingSince.IsZero() {
		h.failingSince = now
	}
	if now.Sub(h.failingSince) >= failureThreshold {
		// The first message stays, because a message that changes would be a write to the hub.
		if h.Healthy || !h.Known {
			h.Message = failure
		}
		h.Known, h.Healthy = true, false
	}
	return h
}

// failing returns whether the last probe failed.
func (h Health) failing() bool { return !h.failingSince.IsZero() }

// probeFailure describes the response to a probe; empty for a success. The code is 0 where there was no response.
func probeFailure(body []byte, code int, err error) string {
	switch {
	case code == 0 && err != nil:
		return "The API server of the cluster does not respond"
	case code == http.StatusOK:
		return ""
	default:
		return fmt.Sprintf("The API server of the cluster is not healthy: status %d, %q", code, body[:min(len(body), maxProbeText)])
	}
}

// reached returns whether a status code is about the health of the member.
func reached(code int) bool { return code == http.StatusOK || code == http.StatusInternalServerError }

// fallback returns whether a response to /livez means that /healthz is the page to read.
func fallback(code int) bool { return code == http.StatusNotFound || code == http.StatusForbidden }
