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
	// patience is how long callers wait at most until it is known whom to trust. Then those with a token are served.
	patience = 10 * time.Second
	// patientPoll is how often that is looked at.
	patientPoll = 10 * time.Millisecond
)

// patient is a listener that takes nobody's call before it is known who may vouch for the caller: whoever calls earlier
// waits in line, and is not turned away as a stranger.
type patient struct {
	net.Listener
	// wait returns once that is known, or patience has ended: whoever cannot be vouched for then is refused.
	wait func()
}

func newPatient(ctx context.Context, listener net.Listener, trust []dynamiccertificates.CAContentProvider) *patient {
	unknown := func(provider dynamiccertificates.CAContentProvider) bool {
		return len(provider.CurrentCABundleContent()) == 0
	}
	return &patient{listener, sync.OnceFunc(func() {
		_ = wait.PollUntilContextTimeout(ctx, patientPoll, patience, true, func(context.Context) (bool, error) {
			return !slices.ContainsFunc(trust, unknown), nil
		})
	})}
}

// Accept implements net.Listener.
func (p *patient) Accept() (net.Conn, error) {
	p.wait()
	return p.Listener.Accept() //nolint:wrapcheck // whoever serves asks what it is
}
