package telemetry

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// The types of metrics, as Prometheus calls them.
const (
	typeCounter   = "counter"
	typeGauge     = "gauge"
	typeHistogram = "histogram"
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

// Definitions returns every metric of Berth, by name.
func Definitions() []Definition {
	c := &metricSet{}
	newMetrics(c)
	newHealth(c, nil)
	newCertificate(c, nil)
	newGuard(c, nil)
	newPreflight(c, nil)
	newCertificateRequests(c, nil)
	newProbes(c, nil)
	newDeliveries(c, nil)
	newAddOns(c, nil)
	newScores(c)
	newProfiles(c, nil)
	newInventory(c, nil)
	return slices.SortedFunc(slices.Values(c.definitions), func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
}

// metricSet creates metrics and records their definitions, so that the documentation matches the metrics.
type metricSet struct {
	definitions []Definition
	collectors  []prometheus.Collector
}

func (m *metricSet) define(kind, name, help string, labels []Label) []string {
	m.definitions = append(m.definitions, Definition{Name: name, Help: help, Type: kind, Labels: labels})
	names := make([]string, 0, len(labels))
	for _, label := range labels {
		names = append(names, label.Name)
	}
	return names
}

func (m *metricSet) counter(name, help string, labels ...Label) *prometheus.CounterVec {
	out := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, m.define(typeCounter, name, help, labels))
	m.collectors = append(m.collectors, out)
	return out
}

func (m *metricSet) gauge(name, help string, labels ...Label) *prometheus.GaugeVec {
	out := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, m.define(typeGauge, name, help, labels))
	m.collectors = append(m.collectors, out)
	return out
}

func (m *metricSet) histogram(name, help string, buckets []float64, labels ...Label) *prometheus.HistogramVec {
	names := m.define(typeHistogram, name, help, labels)
	out := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, names)
	m.collectors = append(m.collectors, out)
	return out
}

// collected describes a gauge whose values are computed at each scrape.
func (m *metricSet) collected(name, help string, labels ...Label) *prometheus.Desc {
	return prometheus.NewDesc(name, help, m.define(typeGauge, name, help, labels), nil)
}

// scraped adds a gauge whose values are read at each scrape.
func (m *metricSet) scraped(name, help string, read func(emit), labels ...Label) {
	m.collectors = append(m.collectors, scrapedGauge{m.collected(name, help, labels...), read})
}
