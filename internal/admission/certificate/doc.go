// Package certificate owns the TLS key pair of the manager's webhooks and views. It comes from files that another program
// updates, such as cert-manager, or is self-signed and stored in a Secret.
//
// A self-signed key pair is made with client-go's cert package, together with a CA that signs nothing else and whose key is
// discarded. It is renewed after two thirds of its lifetime, when a name is added, and when its Secret is deleted. The API
// server never connects to a replica whose certificate it does not trust:
//
//  1. The next key pair is stored beside the current one, and the CAs of both are published.
//  2. Once every registered object has both CAs, and after a delay, the next key pair becomes the current one. Each replica
//     serves it as soon as it reads the Secret.
//  3. A new name is published after a delay in which every replica has read the Secret.
//  4. The CA of the former key pair stays published until it expires. The CA of a deleted Secret is removed after a delay in
//     which every replica serves another key pair.
//
// A key pair from files is served once every registered object has its CA, and after the same delay when it replaces another.
// CAs that a leader finds registered at its start stay published for a while, since other replicas may still serve a key pair
// that they signed. Without a CA file, another program publishes the CA, and the files are served at once.
//
// The leader renews and publishes; every replica serves the stored key pair. The invariant: no key pair is served before its
// CA is published, unless there is no valid one.
package certificate

import (
	"context"
	"crypto/tls"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

const (
	// lifetime is how long a certificate is valid.
	lifetime = 90 * 24 * time.Hour
	// trustDelay is how long the next key pair waits before it is served. Every replica polls more often.
	trustDelay = 2 * time.Minute
	// pollInterval is how often the stored state is read and published again.
	pollInterval = 10 * time.Second
	// startPollInterval is the poll interval while there is no key pair to serve.
	startPollInterval = 100 * time.Millisecond
	// expiryMargin is how long before its expiry a key pair is replaced even if the next one has not waited long enough.
	expiryMargin = 3 * pollInterval
)

// CAPublisher writes the addresses and the CA bundles of the servers to the registered objects. Bundles are PEM. Apply and
// UpdateCABundles are called at every poll, mostly without a change.
type CAPublisher interface {
	// Apply writes addresses and bundles.
	Apply(ctx context.Context, authorities []byte) error
	// UpdateCABundles replaces the bundles of the stored objects. Their addresses stay.
	UpdateCABundles(ctx context.Context, authorities []byte) error
	// CABundles returns the bundle of each stored object.
	CABundles(ctx context.Context) ([][]byte, error)
}

// Source provides the current key pair. Its listeners are called after each change.
type Source interface {
	dynamiccertificates.CertKeyContentProvider

	// ConfigureTLS makes a server always serve the current key pair.
	ConfigureTLS(config *tls.Config)
	// Ready closes once there is a key pair.
	Ready() <-chan struct{}
	// NotAfter returns when the key pair expires. Ok is false before the first key pair.
	NotAfter() (end time.Time, ok bool)
}
