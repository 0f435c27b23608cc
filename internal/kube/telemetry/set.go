// Package telemetry has what the metrics and events of every room are made of: a set of metrics with their definitions, the registry of
// the manager, bounded counts by namespace, counts of rollouts, and the notes of events.
//
// Invariant: no label has values that grow with the number of clusters or placements. The label namespace has at most 1,001
// values.
package telemetry

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// The types of metrics, as Prometheus calls them.
const (
	TypeCounter   = "counter"
	TypeGauge     = "gauge"
	TypeHistogram = "histogram"
)

// Definition is the name, the help, the type and the labels of a metric.
type Definition struct {
	Name, Help, Type string
	Labels           []Label
}

// Label is a label of a metric.
type Label struct {
	Name string
	// Values are all values of the label; empty if they are not a fixed set.
	Values []string
	// Any describes the values if they are not a fixed set.
	Any string
}

// Set creates metrics and records their definitions, so that the documentation matches the metrics. The zero value is empty.
type Set struct {
	definitions []Definition
	collectors  []prometheus.Collector
}

// Definitions returns the definitions of the metrics, by name.
func (s *Set) Definitions() []Definition {
	return slices.SortedFunc(slices.Values(s.definitions), func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
}

// Register registers the metrics. It panics if the registry has one of them already.
func (s *Set) Register(registry prometheus.Registerer) { registry.MustRegister(s.collectors...) }

// Define records the definition of a metric that other functions than those of the set create. It returns the names of the labels.
func (s *Set) Define(definition Definition) []string {
	s.definitions = append(s.definitions, definition)
	names := make([]string, 0, len(definition.Labels))
	for _, label := range definition.Labels {
		names = append(names, label.Name)
	}
	return names
}

// Add adds collectors, whose definitions are recorded by Define or Collected.
func (s *Set) Add(collectors ...prometheus.Collector) {
	s.collectors = append(s.collectors, collectors...)
}

// Counter adds a counter.
func (s *Set) Counter(name, help string, labels ...Label) *prometheus.CounterVec {
	names := s.Define(Definition{Name: name, Help: help, Type: TypeCounter, Labels: labels})
	out := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, names)
	s.Add(out)
	return out
}

// Gauge adds a gauge.
func (s *Set) Gauge(name, help string, labels ...Label) *prometheus.GaugeVec {
	names := s.Define(Definition{Name: name, Help: help, Type: TypeGauge, Labels: labels})
	out := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, names)
	s.Add(out)
	return out
}

// Histogram adds a histogram with the upper bounds of its buckets.
func (s *Set) Histogram(name, help string, buckets []float64, labels ...Label) *prometheus.HistogramVec {
	names := s.Define(Definition{Name: name, Help: help, Type: TypeHistogram, Labels: labels})
	out := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, names)
	s.Add(out)
	return out
}

// Collected describes a gauge whose values a collector computes at each scrape. Add adds the collector.
func (s *Set) Collected(name, help string, labels ...Label) *prometheus.Desc {
	return prometheus.NewDesc(name, help, s.Define(Definition{Name: name, Help: help, Type: TypeGauge, Labels: labels}), nil)
}

// Scraped adds a gauge. Each scrape calls read, which emits the values.
func (s *Set) Scraped(name, help string, read func(Emit), labels ...Label) {
	s.Add(scrapedGauge{s.Collected(name, help, labels...), read})
}

// Texts returns values as those of a label.
func Texts[T ~string](values []T) []string {
	out := make([]string, 0, len(values))
	for _, value := range values {
		out = append(out, string(value))
	}
	return out
}

// BoolValue returns the value of a gauge that is 1 or 0.
func BoolValue(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
