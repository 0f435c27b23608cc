package csr

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

// The results of a request.
const (
	resultApproved = "approved"
	resultDenied   = "denied"
)

// Metrics are the metrics of the controller that approves the certificate requests of agents.
type Metrics struct {
	finished *prometheus.CounterVec
}

// NewMetrics registers the metrics. It must be called once per registry. Each scrape calls pending.
func NewMetrics(registry prometheus.Registerer, pending func() int) *Metrics {
	set := &telemetry.Set{}
	out := newMetrics(set, pending)
	set.Register(registry)
	for _, result := range []string{resultApproved, resultDenied} {
		out.finished.WithLabelValues(result)
	}
	return out
}

// DescribeMetrics adds the metrics of the package to a set.
func DescribeMetrics(set *telemetry.Set) { newMetrics(set, nil) }

func newMetrics(set *telemetry.Set, pending func() int) *Metrics {
	set.Scraped("berth_certificate_requests_pending", "CertificateSigningRequests of agents that wait for an administrator or for "+
		"a change of their cluster.",
		func(emit telemetry.Emit) { emit(float64(pending())) })
	return &Metrics{finished: set.Counter("berth_certificate_requests_total",
		"CertificateSigningRequests of agents that the manager approved or denied.",
		telemetry.Label{Name: "result", Values: []string{resultApproved, resultDenied}})}
}

// AddApproved counts an approved request.
func (m *Metrics) AddApproved() { m.finished.WithLabelValues(resultApproved).Inc() }

// AddDenied counts a denied request.
func (m *Metrics) AddDenied() { m.finished.WithLabelValues(resultDenied).Inc() }
