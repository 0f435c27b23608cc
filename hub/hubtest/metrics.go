package hubtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics are the metrics of a process, by name.
type Metrics map[string]*dto.MetricFamily

func parseMetrics(text []byte) (Metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	out, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parsing metrics: %w", err)
	}
	return out, nil
}

// Series returns those of a metric that have every one of some labels, given as name="value".
func (m Metrics) Series(name string, labels ...string) []*dto.Metric {
	var out []*dto.Metric
	for _, series := range m[name].GetMetric() {
		has := make([]string, 0, len(series.GetLabel()))
		for _, pair := range series.GetLabel() {
			has = append(has, pair.GetName()+"="+strconv.Quote(pair.GetValue()))
		}
		if !slices.ContainsFunc(labels, func(label string) bool { return !slices.Contains(has, label) }) {
			out = append(out, series)
		}
	}
	return out
}

// Sum adds up those of a metric that have every one of some labels, given as name="value". Of histograms it counts what
// they have observed.
func (m Metrics) Sum(name string, labels ...string) float64 {
	var out float64
	for _, series := range m.Series(name, labels...) {
		out += value(series)
	}
	return out
}

func value(series *dto.Metric) float64 {
	return series.GetCounter().GetValue() + series.GetGauge().GetValue() + series.GetUntyped().GetValue() + float64(series.GetHistogram().GetSampleCount())
}

// Writes counts the writes that an API server has answered, by verb and resource, of those groups and resources that
// are to count.
func (m Metrics) Writes(counts func(group, resource string) bool) map[string]float64 {
	out := map[string]float64{}
	for _, series := range m.Series("apiserver_request_total") {
		labels := map[string]string{}
		for _, pair := range series.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		verb, resource := labels["verb"], labels["resource"]
		if verb == "GET" || verb == "LIST" || verb == "WATCH" || !counts(labels["group"], resource) {
			continue
		}
		if sub := labels["subresource"]; sub != "" {
			resource += "/" + sub
		}
		out[verb+" "+resource] += value(series)
	}
	return out
}

// ReadMetrics returns the manager's metrics.
func (m *Manager) ReadMetrics(ctx context.Context) (Metrics, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.MetricsAddress+"/metrics", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	return parseMetrics(body)
}

// ReadMetrics returns the API server's metrics.
func (h *Hub) ReadMetrics(t testing.TB) Metrics {
	t.Helper()
	body, err := h.Client(t).Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := parseMetrics(body)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
