package apiserver

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
	// trustTimeout is how long callers wait at most until it is known whom to trust. Then those with a token are served.
	trustTimeout = 10 * time.Second
	// trustPollInterval is how often that is looked at.
	trustPollInterval = 10 * time.Millisecond
)

// gatedListener is a listener that takes nobody's call before it is known who may vouch for the caller: whoever calls earlier
// waits in line, and is not turned away as a stranger.
type gatedListener struct {
	net.Listener
	// wait returns once that is known, or patience has ended: whoever cannot be vouched for then is refused.
	wait func()
}

func newGatedListener(ctx context.Context, listener net.Listener, trust []dynamiccertificates.CAContentProvider) *gatedListener {
	unknown := func(provider dynamiccertificates.CAContentProvider) bool {
		return len(provider.CurrentCABundleContent()) == 0
	}
	return &gatedListener{listener, sync.OnceFunc(func() {
		_ = wait.PollUntilContextTimeout(ctx, trustPollInterval, trustTimeout, true, func(context.Context) (bool, error) {
			return !slices.ContainsFunc(trust, unknown), nil
		})
	})}
}

// Accept implements net.Listener.
func (p *gatedListener) Accept() (net.Conn, error) {
	p.wait()
	return p.Listener.Accept() //nolint:wrapcheck // whoever serves asks what it is
}
