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
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// timeout bounds a request up to the begin of its response: resolving, connecting, the TLS handshake, and the wait.
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
	errNotRead  = errors.New("the probe only reads, and requests a token of its own service account")
	errNotHere  = errors.New("the request is for another server than that of the Secret")
)

// Observer receives the outcome of each reading: the path below that of the server, and the status code or the error.
type Observer func(path string, code int, err error)

// Connection is how a client reaches one target. It is safe for concurrent use.
type Connection struct {
	// Config is for the client. It is read-only.
	Config    *rest.Config
	transport *Transport
}

// Close releases the idle connections. Requests that run are not canceled.
func (c *Connection) Close() { c.transport.base.CloseIdleConnections() }

// SetToken replaces the token of all requests from now on.
func (c *Connection) SetToken(token string) {
	c.transport.mu.Lock()
	defer c.transport.mu.Unlock()
	c.transport.token = token
}

// Transport sends the requests of a probe to one target. It reads, and sends one other request: the one for a token of the service
// account whose token it has.
type Transport struct {
	base    *http.Transport
	server  *url.URL
	observe Observer
	// tokenPath is the path of a request for a token; empty where the target has no token of a service account.
	tokenPath string
	timeout   time.Duration

	mu    sync.Mutex
	token string
	// watched counts the bytes of watches by path since the last list.
	watched map[string]*atomic.Int64
}

// Connect returns how a client reaches a target. It sends nothing. Close releases its connections.
func (t Target) Connect(allowed Allowed, observe Observer) (*Connection, error) {
	server, err := url.Parse(t.Server)
	if err != nil {
		return nil, unusable("the server must be an https URL with a host")
	}
	security := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if len(t.CA) > 0 {
		security.RootCAs = x509.NewCertPool()
		security.RootCAs.AppendCertsFromPEM(t.CA)
	}
	if len(t.Cert) > 0 {
		pair, err := tls.X509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, unusable("the client certificate and its key are not a pair in PEM")
		}
		security.Certificates = []tls.Certificate{pair}
	}
	transport := &Transport{
		base: newTransport(allowed, t.host(), security), server: server, observe: observe, watched: map[string]*atomic.Int64{},
		token: t.BestToken(), timeout: timeout,
	}
	if account, ok := ReadAccount(t.Token); ok {
		transport.tokenPath = strings.TrimSuffix(server.Path, "/") + account.tokenPath()
	}
	return &Connection{Config: &rest.Config{Host: t.Server, Transport: transport}, transport: transport}, nil
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
	if err := t.check(request); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancelCause(request.Context())
	late := time.AfterFunc(t.timeout, //nolint:forbidigo // a limit of the network, as those of net/http
		func() { end(context.DeadlineExceeded) })
	response, err := t.base.RoundTrip(t.authenticated(request.WithContext(ctx)))
	late.Stop()
	if err == nil && response.StatusCode >= 300 && response.StatusCode < 400 {
		_ = response.Body.Close() // it is not read
		err = fmt.Errorf("%w: the status is %d", ErrRedirect, response.StatusCode)
	}
	observe := t.observe
	if request.Method != http.MethodGet { // its caller reports it
		observe = func(string, int, error) {}
	}
	at := t.path(request)
	if err != nil {
		end(nil)
		if request.Context().Err() != context.Canceled {
			observe(at, 0, err)
		}
		return nil, err //nolint:wrapcheck // a transport returns the error of the transport below it
	}
	observe(at, response.StatusCode, nil)
	response.Body = &limited{
		ReadCloser: response.Body, watched: t.counter(request), tooLarge: func() { observe(at, 0, ErrTooLarge) }, closed: func() { end(nil) },
	}
	return response, nil
}

// check refuses every request but a reading and the request for a token.
func (t *Transport) check(request *http.Request) error {
	if request.URL.Scheme != t.server.Scheme || request.URL.Host != t.server.Host || request.Host != "" && request.Host != t.server.Host {
		return fmt.Errorf("%w: %s", errNotHere, request.URL.Host)
	}
	renews := request.Method == http.MethodPost && t.tokenPath != "" && request.URL.Path == t.tokenPath && request.URL.RawPath == "" &&
		request.URL.RawQuery == "" && request.URL.Opaque == ""
	if request.Method != http.MethodGet && !renews {
		return fmt.Errorf("%w: %s %s is refused", errNotRead, request.Method, request.URL.Path)
	}
	return nil
}

// authenticated returns the request with the token of the target, if it has one.
func (t *Transport) authenticated(request *http.Request) *http.Request {
	t.mu.Lock()
	token := t.token
	t.mu.Unlock()
	if token == "" {
		return request
	}
	request = request.Clone(request.Context()) // a transport must not change its request
	request.Header.Set("Authorization", "Bearer "+token)
	return request
}

// path returns the path of a request below that of the server.
func (t *Transport) path(request *http.Request) string {
	at := request.URL.Path
	if prefix := t.server.Path; len(prefix) > 1 && len(at) > len(prefix) {
		return at[len(prefix):]
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
	closed   func()
}

// Close implements io.Closer.
func (l *limited) Close() error {
	defer l.closed()
	return l.ReadCloser.Close() //nolint:wrapcheck // a body returns the error of the body below it
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
