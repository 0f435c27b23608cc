package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// certificateCollector shows when the certificate ends that the manager serves. It is a prometheus.Collector.
type certificateCollector struct {
	until func() (end time.Time, ok bool)
	end   *prometheus.Desc
}

// NewCertificate makes the metric of the certificate that webhooks and views are served with, and registers it. It must be
// called once per registry. Until is asked whenever the metric is read; while there is no certificate it says so.
func NewCertificate(registry prometheus.Registerer, until func() (end time.Time, ok bool)) {
	registry.MustRegister(newCertificateCollector(&metricSet{}, until))
}

func newCertificateCollector(c *metricSet, until func() (time.Time, bool)) *certificateCollector {
	return &certificateCollector{until: until, end: c.collected("berth_certificate_end_timestamp_seconds",
		"When the certificate ends that webhooks and views are served with, in seconds since 1970; absent while there is none.")}
}

// Describe implements prometheus.Collector.
func (c *certificateCollector) Describe(to chan<- *prometheus.Desc) { to <- c.end }

// Collect implements prometheus.Collector.
func (c *certificateCollector) Collect(to chan<- prometheus.Metric) {
	if end, ok := c.until(); ok {
		to <- prometheus.MustNewConstMetric(c.end, prometheus.GaugeValue, float64(end.Unix()))
	}
}
