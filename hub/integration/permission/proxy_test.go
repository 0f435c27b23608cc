package permission

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
)

// proxy stands between a manager and the API server, acts as the manager's service account, and notes what is asked.
type proxy struct {
	server *httptest.Server
	infos  request.RequestInfoFactory

	mu      sync.Mutex
	used    sets.Set[cell]
	refused string
}

// cell is what a rule allows: one verb on one resource, "resource" or "resource/subresource".
type cell struct{ verb, group, resource string }

func newProxy(t *testing.T) *proxy {
	t.Helper()
	config := shared.ManagerConfig(t)
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	hub, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{used: sets.New[cell](), infos: request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}}
	p.server = httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(hub) },
		Transport:      transport,
		FlushInterval:  -1, // watches
		ErrorLog:       log.New(io.Discard, "", 0),
		ModifyResponse: p.note,
	})
	p.server.EnableHTTP2 = true
	p.server.StartTLS()
	t.Cleanup(func() {
		p.server.CloseClientConnections()
		p.server.Close()
	})
	return p
}

func (p *proxy) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
}

// note keeps what was asked for and allowed, and the first thing that was not.
func (p *proxy) note(response *http.Response) error {
	info, err := p.infos.NewRequestInfo(response.Request)
	if err != nil || !info.IsResourceRequest {
		return err
	}
	asked := cell{info.Verb, info.APIGroup, info.Resource}
	if info.Subresource != "" {
		asked.resource += "/" + info.Subresource
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if response.StatusCode == http.StatusForbidden {
		if p.refused == "" {
			p.refused = asked.verb + " " + asked.group + "/" + asked.resource
		}
		return nil
	}
	p.used.Insert(asked)
	if info.Verb == "patch" && response.StatusCode == http.StatusCreated { // an apply that creates needs both
		p.used.Insert(cell{"create", asked.group, asked.resource})
	}
	return nil
}

func (p *proxy) seen() (used sets.Set[cell], refused string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used.Clone(), p.refused
}
