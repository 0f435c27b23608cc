package placement

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

// proxy is between a manager and the API server. It records requests and responses, and may delay, refuse or abort requests.
type proxy struct {
	*hubtest.Proxy
	mu sync.Mutex
	// rule handles a request. Its argument forward sends the request to the API server. Nil: all requests are forwarded.
	rule  rule
	calls []call
}

type rule func(w http.ResponseWriter, r *http.Request, forward http.Handler)

// call is a completed request.
type call struct {
	method, path string
	code         int
}

// newProxy returns a proxy for a manager, and the kubeconfig for the manager.
func newProxy(t *testing.T) (p *proxy, config string) {
	t.Helper()
	p = &proxy{}
	p.Proxy = hubtest.NewProxy(t, shared, hubtest.ProxyOptions{Handle: p.handle, OnResponse: p.record})
	return p, p.Kubeconfig
}

func (p *proxy) handle(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	p.mu.Lock()
	rule := p.rule
	p.mu.Unlock()
	if rule == nil {
		forward.ServeHTTP(w, r)
		return
	}
	rule(w, r, forward)
}

func (p *proxy) record(response *http.Response) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := response.Request
	p.calls = append(p.calls, call{r.Method, r.URL.Path, response.StatusCode})
	return nil
}

// setRule sets the rule for later requests.
func (p *proxy) setRule(r rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = r
}

// writes returns the completed writes to Berth's API group, in the order of the responses.
func (p *proxy) writes() []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []call
	for _, c := range p.calls {
		if isWrite(c.method, c.path) {
			out = append(out, c)
		}
	}
	return out
}

// isWrite returns whether a request writes to Berth's API group.
func isWrite(method, path string) bool {
	return method != http.MethodGet && strings.HasPrefix(path, "/apis/cluster.open-cluster-management.io/")
}

// discardWriter discards a response, so that the API server completes the request.
type discardWriter struct{ header http.Header }

func (d discardWriter) Header() http.Header          { return d.header }
func (discardWriter) Write(data []byte) (int, error) { return len(data), nil }
func (discardWriter) WriteHeader(int)                {}

// forwardOnly forwards a request and drops the response. The request completes even if its client has ended.
func forwardOnly(r *http.Request, forward http.Handler) {
	forward.ServeHTTP(discardWriter{http.Header{}}, r.WithContext(context.WithoutCancel(r.Context())))
}
