// Package certificate owns what the manager serves TLS with, to the API server only: webhooks and views alike. Either
// files that somebody else keeps fresh, such as cert-manager, or a certificate of its own in a Secret.
//
// A certificate of its own is made with client-go's cert package, together with an authority that signs nothing else
// and whose key is thrown away. It is renewed after two thirds of its life in three steps, so that no request ever meets
// a server whose certificate the API server does not trust:
//
//  1. The next certificate is stored beside the current one, and the API server is told to trust both.
//  2. After a while, and once everybody has been told, it becomes the current one.
//  3. The authority of the former stays trusted until it ends.
//
// One that comes in files is served after the same while, and the former authority is trusted for another. Where the files
// have no authorities, somebody else tells whom to trust, and it is served at once.
//
// The leader renews and tells whom to trust; every replica serves what is stored. The package refuses to know who has to
// be told: callers add a Trust for each. The invariant: what is served is never anything that Trust was not called for.
package certificate

import (
	"context"
	"crypto/tls"
	"time"
)

const (
	// life is how long a certificate is valid.
	life = 90 * 24 * time.Hour
	// overlap is how long the next certificate waits until everybody trusts it: longer than any replica needs to look.
	overlap = 2 * time.Minute
	// look is how often what is stored is looked at, and who trusts is told again.
	look = 10 * time.Second
	// hurry is how often it is looked at while there is nothing to serve.
	hurry = 100 * time.Millisecond
	// closing is how long before its end a certificate gives way to the next, though that has not waited long enough.
	closing = 3 * look
)

// Trust tells somebody which authorities to trust, as PEM. It is called again and again, mostly with the same.
type Trust func(ctx context.Context, authorities []byte) error

// Source is a certificate that stays fresh.
type Source interface {
	// TLS lets a server serve with the certificate, and with each later one.
	TLS(config *tls.Config)
	// Ready closes once there is a certificate.
	Ready() <-chan struct{}
	// Until returns when the certificate ends. Ok is false while there is none.
	Until() (end time.Time, ok bool)
	// OnChange calls a function after each change of the certificate. It must not block.
	OnChange(call func())
}
