package hubtest

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"
)

// ProxyOptions configures a proxy.
type ProxyOptions struct {
	// Shared means that the caller stops the proxy. Otherwise it stops at the end of the test.
	Shared bool
	// Handle handles a request, and forward sends it to the API server. nil forwards every request.
	Handle func(w http.ResponseWriter, r *http.Request, forward http.Handler)
	// OnResponse receives the responses of the API server before the manager does.
	OnResponse func(*http.Response) error
}

// Proxy is between one manager and the API server. It acts as the manager's service account, and authenticates no client.
type Proxy struct {
	// Kubeconfig is the kubeconfig for the manager.
	Kubeconfig string
	server     *httptest.Server
}

// NewProxy starts a proxy.
func NewProxy(t testing.TB, hub *Hub, opts ProxyOptions) *Proxy {
	t.Helper()
	direct := hub.ManagerConfig(t)
	transport, err := rest.TransportFor(direct)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(direct.Host)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Authorization")
		},
		Transport:      transport,
		FlushInterval:  -1, // watches
		ErrorLog:       log.New(io.Discard, "", 0),
		ModifyResponse: opts.OnResponse,
	}
	server := httptest.NewUnstartedServer(forward)
	if opts.Handle != nil {
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { opts.Handle(w, r, forward) })
	}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // some tests abort requests
	server.StartTLS()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
	out := &Proxy{Kubeconfig: hub.WriteKubeconfig(t, config), server: server}
	if !opts.Shared {
		t.Cleanup(out.Stop)
	}
	return out
}

// Stop ends the proxy.
func (p *Proxy) Stop() {
	p.CloseConnections()
	p.server.Close()
}

// CloseConnections closes every connection of the manager, also connections in use.
func (p *Proxy) CloseConnections() { p.server.CloseClientConnections() }
