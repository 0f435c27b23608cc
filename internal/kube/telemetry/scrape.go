package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Emit sends one value of a gauge, with the values of its labels.
type Emit func(value float64, labels ...string)

// scrapedGauge is a gauge whose values are read at each scrape.
type scrapedGauge struct {
	desc *prometheus.Desc
	read func(Emit)
}

// Describe implements prometheus.Collector.
func (g scrapedGauge) Describe(to chan<- *prometheus.Desc) { to <- g.desc }

// Collect implements prometheus.Collector.
func (g scrapedGauge) Collect(to chan<- prometheus.Metric) {
	g.read(func(value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, labels...)
	})
}
