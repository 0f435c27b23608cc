package csr

import "time"

const (
	// A certificate is renewed when less than this part of its lifetime remains: at random between the two, so that the agents
	// of a fleet that joined together do not renew together.
	minRemaining = 0.20
	maxRemaining = 0.25

	maxCheckInterval = 5 * time.Minute
	// checksPerLifetime makes the renewal of a short certificate timely.
	checksPerLifetime = 100
)

// RenewAt returns when to renew a certificate. random is from 0 up to 1 and stays the same for one certificate.
func RenewAt(from, until time.Time, random float64) time.Time {
	remaining := minRemaining + (maxRemaining-minRemaining)*random
	return until.Add(-time.Duration(remaining * float64(until.Sub(from))))
}

// CheckInterval returns how often to compare the clock with the time of renewal.
func CheckInterval(from, until time.Time) time.Duration {
	return max(time.Second, min(maxCheckInterval, until.Sub(from)/checksPerLifetime))
}
