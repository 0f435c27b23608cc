package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/agent/backoff"
)

// DefaultSpread is the time over which the agents of a fleet reconnect to a hub that was away.
const DefaultSpread = 60 * time.Second

// ErrGateClosed is the error of a request that was not sent, because the hub did not respond a moment ago.
var ErrGateClosed = errors.New("the hub did not respond; requests wait")

// Gate keeps requests from a hub that does not respond. The first failure closes it for a random part of its spread, and so
// does every later failure. So the agents of a fleet come back spread over that time, and not all at once. It is safe for
// concurrent use.
type Gate struct {
	clock  clock.Clock
	random func() float64

	mu       sync.Mutex
	spread   time.Duration
	opens    time.Time
	failures int
	// root is the certificate authority that verified the last connection, in DER.
	root []byte
}

// NewGate returns an open gate. random returns numbers from 0 up to 1.
func NewGate(c clock.Clock, random func() float64) *Gate {
	return &Gate{clock: c, random: random, spread: DefaultSpread}
}

// SetSpread sets the spread to a lease period, and at most to DefaultSpread: an agent with a short period is back in time.
func (g *Gate) SetSpread(period time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spread = min(period, DefaultSpread)
}

// Failures returns how often the hub did not respond. A changed number means that the agent has reconnected.
func (g *Gate) Failures() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failures
}

// Spread returns a random part of the spread.
func (g *Gate) Spread() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Duration(g.random() * float64(g.spread))
}

// Root returns the certificate authority that verified the last connection, in DER; nil before the first response.
func (g *Gate) Root() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.root
}

// Wait returns when the gate is open.
func (g *Gate) Wait(ctx context.Context) error {
	return backoff.Sleep(ctx, g.clock, g.remaining())
}

func (g *Gate) remaining() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opens.Sub(g.clock.Now())
}

// Wrap returns a transport behind the gate, as rest.Config.WrapTransport wants it.
func (g *Gate) Wrap(next http.RoundTripper) http.RoundTripper { return gated{g, next} }

type gated struct {
	gate *Gate
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g gated) RoundTrip(request *http.Request) (*http.Response, error) {
	if wait := g.gate.remaining(); wait > 0 {
		return nil, fmt.Errorf("%w another %s", ErrGateClosed, wait.Round(time.Second))
	}
	response, err := g.next.RoundTrip(request)
	g.gate.observe(response, err)
	return response, err //nolint:wrapcheck // a transport returns the error of the transport below it
}

// WrappedRoundTripper lets client-go reach the transport below, to close its connections.
func (g gated) WrappedRoundTripper() http.RoundTripper { return g.next }

// observe closes the gate after a request that got no response.
func (g *Gate) observe(response *http.Response, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if unavailable(response, err) {
		g.failures++
		g.opens = g.clock.Now().Add(time.Duration(g.random() * float64(g.spread)))
		return
	}
	if err != nil || response.TLS == nil || len(response.TLS.VerifiedChains) == 0 {
		return
	}
	chain := response.TLS.VerifiedChains[0]
	g.root = chain[len(chain)-1].Raw
}

// unavailable returns whether a server did not respond, or a proxy responded in its place.
func unavailable(response *http.Response, err error) bool {
	if err != nil {
		return !errors.Is(err, context.Canceled)
	}
	switch response.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}
