package hubtest

import (
	"context"
	"testing"

	"github.com/berth-project/berth/internal/kube/process"
)

// Metrics are the metrics of a process, by name.
type Metrics = process.Metrics

// Writes returns the number of completed writes of an API server, by verb and resource, for the counted groups and resources.
func Writes(m Metrics, counts func(group, resource string) bool) map[string]float64 {
	out := map[string]float64{}
	for request, count := range m.Requests() {
		if request.Verb == "GET" || request.Verb == "LIST" || request.Verb == "WATCH" || !counts(request.Group, request.Resource) {
			continue
		}
		out[request.String()] += count
	}
	return out
}

// ReadMetrics returns the manager's metrics.
func (m *Manager) ReadMetrics(ctx context.Context) (Metrics, error) {
	return process.ReadMetrics(ctx, m.MetricsAddress)
}

// ReadMetrics returns the API server's metrics.
func (h *Hub) ReadMetrics(t testing.TB) Metrics {
	t.Helper()
	body, err := h.Client(t).Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := process.ParseMetrics(body)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
