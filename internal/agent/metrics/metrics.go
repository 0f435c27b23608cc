package metrics

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the metrics of one agent. They are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	works    *prometheus.GaugeVec
	apply    *prometheus.HistogramVec
	writes   *prometheus.CounterVec
	usage    *prometheus.CounterVec
	repairs  prometheus.Counter
	held     prometheus.Gauge

	mu        sync.Mutex
	resources map[string]bool
}

// New returns metrics without values.
func New() *Metrics {
	out := &Metrics{registry: prometheus.NewRegistry(), resources: map[string]bool{}}
	works, apply, writes, repairs, held := worksDefinition(), applyDefinition(), writesDefinition(), repairsDefinition(), heldDefinition()
	out.works = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: works.Name, Help: works.Help}, labels(works))
	out.apply = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: apply.Name, Help: apply.Help, Buckets: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
	}, labels(apply))
	out.writes = prometheus.NewCounterVec(prometheus.CounterOpts{Name: writes.Name, Help: writes.Help}, labels(writes))
	out.repairs = prometheus.NewCounter(prometheus.CounterOpts{Name: repairs.Name, Help: repairs.Help})
	out.held = prometheus.NewGauge(prometheus.GaugeOpts{Name: held.Name, Help: held.Help})
	usage := usageDefinition()
	out.usage = prometheus.NewCounterVec(prometheus.CounterOpts{Name: usage.Name, Help: usage.Help}, labels(usage))
	out.registry.MustRegister(out.works, out.apply, out.writes, out.repairs, out.held, out.usage)
	out.Reset()
	return out
}

func labels(of Definition) []string {
	out := make([]string, 0, len(of.Labels))
	for _, label := range of.Labels {
		out = append(out, label.Name)
	}
	return out
}

// Handler serves the metrics in the text format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Reset removes all works, for another session with the hub.
func (m *Metrics) Reset() {
	for _, state := range states() {
		m.works.WithLabelValues(state).Set(0)
	}
	m.held.Set(0)
}

// Moved counts a work in another state. An empty state is no work.
func (m *Metrics) Moved(before, after string) {
	if before != "" {
		m.works.WithLabelValues(before).Dec()
	}
	if after != "" {
		m.works.WithLabelValues(after).Inc()
	}
}

// Reached records how long a work took to reach a stage. A time before zero, by clocks that differ, is zero.
func (m *Metrics) Reached(stage string, took time.Duration) {
	m.apply.WithLabelValues(stage).Observe(max(took, 0).Seconds())
}

// Wrote counts a write of an object.
func (m *Metrics) Wrote(verb, resource string, err error) {
	m.writes.WithLabelValues(verb, m.bounded(resource), result(err)).Inc()
}

// ReportedUsage counts a measurement of the member.
func (m *Metrics) ReportedUsage(err error) { m.usage.WithLabelValues(result(err)).Inc() }

func result(err error) string {
	if err != nil {
		return resultFailure
	}
	return resultSuccess
}

// bounded returns a resource, or otherResource where there are too many.
func (m *Metrics) bounded(resource string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.resources[resource] {
		if len(m.resources) >= maxResources {
			return otherResource
		}
		m.resources[resource] = true
	}
	return resource
}

// Repaired counts an object that was put back.
func (m *Metrics) Repaired() { m.repairs.Inc() }

// Held sets the number of works whose eviction is held.
func (m *Metrics) Held(works int) { m.held.Set(float64(works)) }
