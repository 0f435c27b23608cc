package permission

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
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
	refused *refusal
}

// cell is what a rule allows: one verb on one resource, "resource" or "resource/subresource".
type cell struct{ verb, group, resource string }

// refusal is what the manager may not do, and the answer as it came, JSON or protobuf.
type refusal struct {
	asked  cell
	answer string
}

// wants says whether a refusal is for want of one of some cells: it was asked for, or the answer names what it is on, as
// one does to whoever may not grant what he lacks.
func (r *refusal) wants(cells []cell) bool {
	return r != nil && slices.ContainsFunc(cells, func(c cell) bool {
		return r.asked == c || strings.Contains(r.answer, c.resource)
	})
}

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
		if p.refused == nil {
			body, err := io.ReadAll(response.Body)
			if err != nil {
				return err
			}
			response.Body = io.NopCloser(bytes.NewReader(body))
			p.refused = &refusal{asked, string(body)}
		}
		return nil
	}
	p.used.Insert(asked)
	if info.Verb == "patch" && response.StatusCode == http.StatusCreated { // an apply that creates needs both
		p.used.Insert(cell{"create", asked.group, asked.resource})
	}
	return nil
}

func (p *proxy) seen() (used sets.Set[cell], refused *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used.Clone(), p.refused
}
