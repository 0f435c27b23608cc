package permission

import (
	"net/http"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/berth-project/berth/hub/hubtest"
)

// proxy stands between a manager and the API server, and notes what is asked.
type proxy struct {
	*hubtest.Proxy
	infos request.RequestInfoFactory

	mu      sync.Mutex
	used    sets.Set[cell]
	refused string
}

// cell is what a rule allows: one verb on one resource, "resource" or "resource/subresource".
type cell struct{ verb, group, resource string }

func newProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{used: sets.New[cell](), infos: request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}}
	p.Proxy = hubtest.NewProxy(t, shared, hubtest.ProxyOptions{Answered: p.note})
	return p
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
