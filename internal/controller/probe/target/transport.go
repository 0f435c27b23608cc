package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// timeout bounds each of: resolving and connecting, the TLS handshake, and the wait for the begin of a response.
	timeout = 5 * time.Second
	// pingAfter is how long a silent connection lasts before it is tested.
	pingAfter = 15 * time.Second
	// idleTimeout and maxConnections bound what a member costs at rest.
	idleTimeout, maxConnections = 90 * time.Second, 4
	// maxHeaderBytes bounds the header of a response.
	maxHeaderBytes = 64 << 10
	// maxResponseBytes bounds a response, and maxWatchBytes all responses of the watches of a resource since it was listed. The memory
	// that a member can take is a few times their sum.
	maxResponseBytes, maxWatchBytes = 32 << 20, 64 << 20
)

// The errors of a response that is not used.
var (
	// ErrRedirect is the error of a redirect. Redirects are not followed.
	ErrRedirect = errors.New("the server redirects")
	// ErrTooLarge is the error of a response above the limit.
	ErrTooLarge = errors.New("the response is too large")
	errNotRead  = errors.New("the probe only reads")
)

// Observer receives the outcome of each request: the path below that of the server, and the status code or the error.
type Observer func(path string, code int, err error)

// Transport sends the requests of a probe to one target.
type Transport struct {
	base    *http.Transport
	prefix  string
	observe Observer

	mu sync.Mutex
	// watched counts the bytes of watches by path since the last list.
	watched map[string]*atomic.Int64
}

// Config returns how a client reaches a target. Close releases its connections.
func (t Target) Config(allowed Allowed, observe Observer) (config *rest.Config, closeIdle func(), err error) {
	server, err := url.Parse(t.Server)
	if err != nil {
		return nil, nil, unusable("the server must be an https URL with a host")
	}
	security := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if len(t.CA) > 0 {
		security.RootCAs = x509.NewCertPool()
		security.RootCAs.AppendCertsFromPEM(t.CA)
	}
	if len(t.Cert) > 0 {
		pair, err := tls.X509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, nil, unusable("the client certificate and its key are not a pair in PEM")
		}
		security.Certificates = []tls.Certificate{pair}
	}
	out := &Transport{base: newTransport(allowed, t.host(), security), prefix: server.Path, observe: observe, watched: map[string]*atomic.Int64{}}
	return &rest.Config{Host: t.Server, BearerToken: t.Token, Transport: out}, out.base.CloseIdleConnections, nil
}

// newTransport returns a transport without a proxy. Every connection is checked when its address is known, so that another response of
// the DNS leads nowhere else.
func newTransport(allowed Allowed, host string, security *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: timeout, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		found, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: the address %q has no IP address and port", ErrAddress, address)
		}
		if named, err := netip.ParseAddr(host); err == nil && named.Unmap() == found.Addr().Unmap() {
			return allowed.Address("", found.Addr())
		}
		return allowed.Address(host, found.Addr())
	}}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: security, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout, IdleConnTimeout: idleTimeout,
		MaxConnsPerHost: maxConnections, MaxIdleConnsPerHost: maxConnections, MaxResponseHeaderBytes: maxHeaderBytes,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: timeout},
	}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		return nil, fmt.Errorf("%w: %s is refused", errNotRead, request.Method)
	}
	response, err := t.base.RoundTrip(request)
	if err == nil && response.StatusCode >= 300 && response.StatusCode < 400 {
		_ = response.Body.Close() // it is not read
		err = fmt.Errorf("%w: the status is %d", ErrRedirect, response.StatusCode)
	}
	at := t.path(request)
	if err != nil {
		if request.Context().Err() != context.Canceled {
			t.observe(at, 0, err)
		}
		return nil, err //nolint:wrapcheck // a transport returns the error of the transport below it
	}
	t.observe(at, response.StatusCode, nil)
	response.Body = &limited{ReadCloser: response.Body, watched: t.counter(request), tooLarge: func() { t.observe(at, 0, ErrTooLarge) }}
	return response, nil
}

// path returns the path of a request below that of the server.
func (t *Transport) path(request *http.Request) string {
	at := request.URL.Path
	if len(t.prefix) > 1 && len(at) > len(t.prefix) {
		return at[len(t.prefix):]
	}
	return at
}

// counter returns the counter of all watches of a resource since its last list; nil for a response that is no watch.
func (t *Transport) counter(request *http.Request) *atomic.Int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	query, at := request.URL.Query(), request.URL.Path
	watches := query.Has("watch")
	if !watches || query.Get("sendInitialEvents") == "true" || t.watched[at] == nil {
		t.watched[at] = new(atomic.Int64)
	}
	if !watches {
		return nil
	}
	return t.watched[at]
}

// limited is a body that ends with an error above a limit. A client lists again after the error of a watch.
type limited struct {
	io.ReadCloser
	// read counts this response. watched counts all watches of the resource; nil for a response that is no watch.
	read     int64
	watched  *atomic.Int64
	tooLarge func()
}

// Read implements io.Reader.
func (l *limited) Read(into []byte) (int, error) {
	count, err := l.ReadCloser.Read(into)
	l.read += int64(count)
	if l.read > maxResponseBytes {
		l.tooLarge()
		return 0, fmt.Errorf("%w: above %d MiB", ErrTooLarge, maxResponseBytes>>20)
	}
	if l.watched != nil && l.watched.Add(int64(count)) > maxWatchBytes {
		return 0, fmt.Errorf("%w: the watches since the last list are above %d MiB", ErrTooLarge, maxWatchBytes>>20)
	}
	return count, err //nolint:wrapcheck // io.EOF must stay as it is
}
