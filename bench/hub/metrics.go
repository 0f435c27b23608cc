package hub

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	dto "github.com/prometheus/client_model/go"
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

// isWrite returns whether such a request stores or deletes an object.
func (r Request) isWrite() bool {
	switch r.Verb {
	case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
		return r.Group != "authorization.k8s.io" && r.Group != "authentication.k8s.io" // these are questions
	default:
		return false
	}
}

// isRead returns whether such a request reads objects: get, list or watch.
func (r Request) isRead() bool {
	return r.Resource != "" && slices.Contains([]string{"GET", "LIST", "WATCH"}, r.Verb)
}

// Requests reads the counter.
func (h *Hub) Requests(ctx context.Context) (Requests, error) {
	body, err := h.clients.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	read, err := parse(body)
	if err != nil {
		return nil, err
	}
	return read.requests(), nil
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
func (r Requests) Writes() (kinds []Request, sum float64) { return r.filter(Request.isWrite) }

// Reads returns the kinds of reads among them in the same way.
func (r Requests) Reads() (kinds []Request, sum float64) { return r.filter(Request.isRead) }

func (r Requests) filter(asked func(Request) bool) (kinds []Request, sum float64) {
	for request, count := range r {
		if asked(request) && request.Resource != "leases" {
			kinds = append(kinds, request)
			sum += count
		}
	}
	slices.SortFunc(kinds, func(a, b Request) int {
		return cmp.Or(cmp.Compare(r[b], r[a]), cmp.Compare(a.String(), b.String()))
	})
	return kinds, sum
}

// Metrics are the metrics of a process, by name.
type Metrics map[string]*dto.MetricFamily

func parse(text []byte) (Metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	out, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parsing metrics: %w", err)
	}
	return out, nil
}

// Sum adds up a metric, or those of it that have some labels, given as names and values by turns. Of histograms it counts
// what they have observed.
func (m Metrics) Sum(name string, labels ...string) float64 {
	var out float64
	for _, series := range m[name].GetMetric() {
		has, wanted := labelsOf(series), true
		for pair := range slices.Chunk(labels, 2) {
			wanted = wanted && has[pair[0]] == pair[1]
		}
		if wanted {
			out += series.GetCounter().GetValue() + series.GetGauge().GetValue() + float64(series.GetHistogram().GetSampleCount())
		}
	}
	return out
}

func labelsOf(series *dto.Metric) map[string]string {
	out := map[string]string{}
	for _, pair := range series.GetLabel() {
		out[pair.GetName()] = pair.GetValue()
	}
	return out
}

func (m Metrics) requests() Requests {
	out := Requests{}
	for _, series := range m[requests].GetMetric() {
		labels := labelsOf(series)
		kind := Request{labels["verb"], labels["group"], labels["resource"], labels["subresource"]}
		out[kind] += series.GetCounter().GetValue()
	}
	return out
}
