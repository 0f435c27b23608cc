package hub

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// requests is the API server's counter of what it has answered.
const requests = "apiserver_request_total"

// Requests counts the requests that an API server has answered since it started, by verb, resource and subresource.
type Requests map[Request]float64

// Request is one kind of request.
type Request struct{ Verb, Group, Resource, Subresource string }

// String writes it as "VERB resource/subresource".
func (r Request) String() string {
	if r.Subresource == "" {
		return r.Verb + " " + r.Resource
	}
	return r.Verb + " " + r.Resource + "/" + r.Subresource
}

// isWrite says whether such a request stores or deletes something.
func (r Request) isWrite() bool {
	switch r.Verb {
	case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
		return r.Group != "authorization.k8s.io" && r.Group != "authentication.k8s.io" // these are questions
	default:
		return false
	}
}

// Requests reads the counter.
func (h *Hub) Requests(ctx context.Context) (Requests, error) {
	body, err := h.clients.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	return parse(body)
}

// Since returns what was answered after an earlier reading.
func (r Requests) Since(earlier Requests) Requests {
	out := Requests{}
	for request, count := range r {
		if more := count - earlier[request]; more > 0 {
			out[request] = more
		}
	}
	return out
}

// Writes returns the kinds of writes among them, the most frequent first, and how many there were of all kinds. Leases,
// which the control plane renews all the time, do not count.
func (r Requests) Writes() (kinds []Request, sum float64) {
	for request, count := range r {
		if request.isWrite() && request.Resource != "leases" {
			kinds = append(kinds, request)
			sum += count
		}
	}
	slices.SortFunc(kinds, func(a, b Request) int {
		return cmp.Or(cmp.Compare(r[b], r[a]), cmp.Compare(a.String(), b.String()))
	})
	return kinds, sum
}

func parse(text []byte) (Requests, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parsing the API server's metrics: %w", err)
	}
	out := Requests{}
	for _, series := range families[requests].GetMetric() {
		labels := map[string]string{}
		for _, pair := range series.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		kind := Request{labels["verb"], labels["group"], labels["resource"], labels["subresource"]}
		out[kind] += series.GetCounter().GetValue()
	}
	return out, nil
}
