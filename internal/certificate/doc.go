// Package certificate owns what the manager serves ConfigureTLS with, to the API server only: webhooks and views alike. Either
// files that somebody else keeps fresh, such as cert-manager, or a certificate of its own in a Secret.
//
// A certificate of its own is made with client-go's cert package, together with an authority that signs nothing else
// and whose key is thrown away. It is renewed after two thirds of its life, when a name is added, and when its Secret is
// deleted. No request meets a server whose certificate the API server does not trust:
//
//  1. The next pair is stored beside the current one, and the API server is given both authorities to trust.
//  2. Once every registered object trusts both, and after a while, the next pair becomes the current one. Every replica
//     serves it as soon as it reads the Secret.
//  3. A new name is registered only once every replica has had the time for that.
//  4. The authority of the former pair stays trusted until it ends. That of a deleted Secret leaves once every replica has
//     had the time to serve another pair.
//
// A certificate that comes in files is served once every registered object trusts it, and after the same while when it
// replaces another. Authorities that a manager finds registered at its start stay trusted for a while, since other replicas
// may serve a pair of theirs. Where the files have no authorities, another program registers them, and what the files hold
// is served at once.
//
// The leader renews and registers; every replica serves what is stored. The package does not know what is registered:
// callers give it a Registrar. The invariant: no pair is served that no Registrar was given, unless there is no valid one.
package certificate

import (
	"context"
	"crypto/tls"
	"time"
)

const (
	// lifetime is how long a certificate is valid.
	lifetime = 90 * 24 * time.Hour
	// trustDelay is how long the next certificate waits until everybody trusts it: longer than any replica needs to look.
	trustDelay = 2 * time.Minute
	// pollInterval is how often what is stored is read, and registered again.
	pollInterval = 10 * time.Second
	// startPollInterval is how often it is looked at while there is nothing to serve.
	startPollInterval = 100 * time.Millisecond
	// expiryMargin is how long before its end a certificate gives way to the next, though that has not waited long enough.
	expiryMargin = 3 * pollInterval
)

// CAPublisher stores for the API server how it reaches the servers, and which authorities it trusts there. Authorities are
// PEM. The writing methods are called again and again, mostly with the same.
type CAPublisher interface {
	// Apply stores both.
	Apply(ctx context.Context, authorities []byte) error
	// UpdateCABundles replaces the authorities of what is stored, and leaves alone how the servers are reached.
	UpdateCABundles(ctx context.Context, authorities []byte) error
	// CABundles returns the authorities that are stored, of each object by itself. What is not stored is left out.
	CABundles(ctx context.Context) ([][]byte, error)
}

// Source is a certificate that stays fresh.
type Source interface {
	// ConfigureTLS lets a server serve with the certificate, and with each later one.
	ConfigureTLS(config *tls.Config)
	// Ready closes once there is a certificate.
	Ready() <-chan struct{}
	// NotAfter returns when the certificate ends. Ok is false while there is none.
	NotAfter() (end time.Time, ok bool)
	// OnChange calls a function after each change of the certificate. It must not block.
	OnChange(call func())
}
