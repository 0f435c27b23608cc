package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// maxMetricsBytes is far more than the metrics of a manager.
const maxMetricsBytes = 64 << 20

// Metrics are the metrics of a process, by name.
type Metrics map[string]*dto.MetricFamily

// ReadMetrics reads the metrics that a manager serves at an address.
func ReadMetrics(ctx context.Context, address string) (Metrics, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxMetricsBytes))
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	return ParseMetrics(body)
}

// ParseMetrics parses metrics in the text format of Prometheus.
func ParseMetrics(text []byte) (Metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	out, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parsing metrics: %w", err)
	}
	return out, nil
}

// Series returns the series of a metric that have all labels, given as name="value".
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

// Sum returns the sum of the series of a metric that have all labels, given as name="value". The value of a histogram is the
// number of its observations.
func (m Metrics) Sum(name string, labels ...string) float64 {
	var out float64
	for _, series := range m.Series(name, labels...) {
		out += value(series)
	}
	return out
}

func value(series *dto.Metric) float64 {
	return series.GetCounter().GetValue() + series.GetGauge().GetValue() + series.GetUntyped().GetValue() +
		float64(series.GetHistogram().GetSampleCount())
}

// Requests returns the number of requests that an API server has answered, by kind.
func (m Metrics) Requests() map[Request]float64 {
	out := map[Request]float64{}
	for _, series := range m["apiserver_request_total"].GetMetric() {
		labels := map[string]string{}
		for _, pair := range series.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		out[Request{labels["verb"], labels["group"], labels["resource"], labels["subresource"]}] += value(series)
	}
	return out
}

// Request is one kind of request.
type Request struct{ Verb, Group, Resource, Subresource string }

// String returns the request as "VERB resource/subresource".
func (r Request) String() string {
	if r.Subresource == "" {
		return r.Verb + " " + r.Resource
	}
	return r.Verb + " " + r.Resource + "/" + r.Subresource
}
