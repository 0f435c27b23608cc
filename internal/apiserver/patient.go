package apiserver

import (
	"context"
	"net"
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
	ctx   context.Context //nolint:containedctx // that of the server, which Accept has no other way to get
	trust []dynamiccertificates.CAContentProvider
	once  sync.Once
}

// Accept implements net.Listener.
func (p *patient) Accept() (net.Conn, error) {
	p.once.Do(func() {
		// At the end of the wait, whatever it is, whoever cannot be vouched for is refused.
		_ = wait.PollUntilContextTimeout(p.ctx, patientPoll, patience, true, func(context.Context) (bool, error) { return p.known(), nil })
	})
	return p.Listener.Accept() //nolint:wrapcheck // whoever serves asks what it is
}

func (p *patient) known() bool {
	for _, provider := range p.trust {
		if len(provider.CurrentCABundleContent()) == 0 {
			return false
		}
	}
	return true
}
