package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// certificateCollector collects the expiry of the serving certificate of the manager.
type certificateCollector struct {
	until func() (end time.Time, ok bool)
	end   *prometheus.Desc
}

// NewCertificate registers the metric of the certificate that serves webhooks and views. It must be called once per registry. Each
// scrape calls until. Its ok is false while there is no certificate.
func NewCertificate(registry prometheus.Registerer, until func() (end time.Time, ok bool)) {
	registry.MustRegister(newCertificateCollector(&metricSet{}, until))
}

func newCertificateCollector(c *metricSet, until func() (time.Time, bool)) *certificateCollector {
	return &certificateCollector{until: until, end: c.collected("berth_certificate_end_timestamp_seconds",
		"Expiry of the certificate that serves webhooks and views, in seconds since 1970; absent if there is no certificate.")}
}

// Describe implements prometheus.Collector.
func (c *certificateCollector) Describe(to chan<- *prometheus.Desc) { to <- c.end }

// Collect implements prometheus.Collector.
func (c *certificateCollector) Collect(to chan<- prometheus.Metric) {
	if end, ok := c.until(); ok {
		to <- prometheus.MustNewConstMetric(c.end, prometheus.GaugeValue, float64(end.Unix()))
	}
}
