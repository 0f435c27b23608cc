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

// proxy is between a manager and the API server, and records the requests.
type proxy struct {
	*hubtest.Proxy
	infos request.RequestInfoFactory

	mu     sync.Mutex
	used   sets.Set[permission]
	denial *denial
}

// permission is one verb on one resource: "resource" or "resource/subresource".
type permission struct{ verb, group, resource string }

// denial is a denied request of the manager, and the response, JSON or protobuf.
type denial struct {
	request permission
	answer  string
}

// lacks returns whether a missing permission causes a denial: the request needs it, or the response names it, as in the refusal of a
// grant.
func (d *denial) lacks(cells []permission) bool {
	return d != nil && slices.ContainsFunc(cells, func(c permission) bool {
		return d.request == c || strings.Contains(d.answer, c.resource)
	})
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{used: sets.New[permission](), infos: request.RequestInfoFactory{
		APIPrefixes:          sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api"),
	}}
	p.Proxy = hubtest.NewProxy(t, shared, hubtest.ProxyOptions{OnResponse: p.record})
	return p
}

// record stores the allowed permissions, and the first denied one.
func (p *proxy) record(response *http.Response) error {
	info, err := p.infos.NewRequestInfo(response.Request)
	if err != nil || !info.IsResourceRequest {
		return err
	}
	needed := permission{info.Verb, info.APIGroup, info.Resource}
	if info.Subresource != "" {
		needed.resource += "/" + info.Subresource
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if response.StatusCode == http.StatusForbidden {
		if p.denial == nil {
			body, err := io.ReadAll(response.Body)
			if err != nil {
				return err
			}
			response.Body = io.NopCloser(bytes.NewReader(body))
			p.denial = &denial{needed, string(body)}
		}
		return nil
	}
	p.used.Insert(needed)
	if info.Verb == "patch" && response.StatusCode == http.StatusCreated { // an apply that creates needs both
		p.used.Insert(permission{"create", needed.group, needed.resource})
	}
	return nil
}

func (p *proxy) recorded() (used sets.Set[permission], refused *denial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used.Clone(), p.denial
}
