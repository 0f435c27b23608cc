package csr

import (
	"crypto/x509"
	"time"
)

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
func RenewAt(certificate *x509.Certificate, random float64) time.Time {
	lifetime := certificate.NotAfter.Sub(certificate.NotBefore)
	remaining := minRemaining + (maxRemaining-minRemaining)*random
	return certificate.NotAfter.Add(-time.Duration(remaining * float64(lifetime)))
}

// CheckInterval returns how often to compare the clock with the time of renewal.
func CheckInterval(certificate *x509.Certificate) time.Duration {
	lifetime := certificate.NotAfter.Sub(certificate.NotBefore)
	return max(time.Second, min(maxCheckInterval, lifetime/checksPerLifetime))
}
