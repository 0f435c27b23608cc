package views

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

const (
	// trustTimeout is how long connections wait for the trusted CAs. After that, callers with a token are served.
	trustTimeout = 10 * time.Second
	// trustPollInterval is the interval of that wait.
	trustPollInterval = 10 * time.Millisecond
)

// gatedListener is a listener that accepts no connection before the trusted CAs are read, so that an early caller waits and is
// not rejected as unauthenticated.
type gatedListener struct {
	net.Listener
	// wait returns once the CAs are read, or after the timeout.
	wait func()
}

func newGatedListener(ctx context.Context, listener net.Listener, trust []dynamiccertificates.CAContentProvider) *gatedListener {
	unread := func(provider dynamiccertificates.CAContentProvider) bool {
		return len(provider.CurrentCABundleContent()) == 0
	}
	return &gatedListener{listener, sync.OnceFunc(func() {
		_ = wait.PollUntilContextTimeout(ctx, trustPollInterval, trustTimeout, true, func(context.Context) (bool, error) {
			return !slices.ContainsFunc(trust, unread), nil
		})
	})}
}

// Accept implements net.Listener.
func (g *gatedListener) Accept() (net.Conn, error) {
	g.wait()
	return g.Listener.Accept() //nolint:wrapcheck // net/http compares the error
}
