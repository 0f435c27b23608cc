package hub

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/berth-project/berth/internal/kube/process"
)

// Requests is the number of completed requests of an API server since its start, by kind.
type Requests map[Request]float64

// Request is one kind of request.
type Request = process.Request

// isWrite returns whether such a request stores or deletes an object.
func isWrite(r Request) bool {
	switch r.Verb {
	case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
		return r.Group != "authorization.k8s.io" && r.Group != "authentication.k8s.io" // these store nothing
	default:
		return false
	}
}

// isRead returns whether such a request reads objects: get, list or watch.
func isRead(r Request) bool {
	return r.Resource != "" && slices.Contains([]string{"GET", "LIST", "WATCH"}, r.Verb)
}

// Requests reads the counter.
func (h *Hub) Requests(ctx context.Context) (Requests, error) {
	body, err := h.clients.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	read, err := process.ParseMetrics(body)
	if err != nil {
		return nil, err
	}
	return read.Requests(), nil
}

// Since returns the requests after an earlier reading.
func (r Requests) Since(earlier Requests) Requests {
	out := Requests{}
	for request, count := range r {
		if more := count - earlier[request]; more > 0 {
			out[request] = more
		}
	}
	return out
}

// Writes returns the kinds of writes, the most frequent first, and the number of all writes. It excludes leases, which the
// control plane renews continuously.
func (r Requests) Writes() (kinds []Request, sum float64) { return r.filter(isWrite) }

// Reads returns the kinds of reads, and the number of all reads, in the same way.
func (r Requests) Reads() (kinds []Request, sum float64) { return r.filter(isRead) }

func (r Requests) filter(include func(Request) bool) (kinds []Request, sum float64) {
	for request, count := range r {
		if include(request) && request.Resource != "leases" {
			kinds = append(kinds, request)
			sum += count
		}
	}
	slices.SortFunc(kinds, func(a, b Request) int {
		return cmp.Or(cmp.Compare(r[b], r[a]), cmp.Compare(a.String(), b.String()))
	})
	return kinds, sum
}
