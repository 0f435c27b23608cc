package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/preflight"
)

// hubCollector collects the number of definitions, fields and permissions that are missing on the hub.
type hubCollector struct {
	found func() preflight.Report
	lacks *prometheus.Desc
}

// NewPreflight registers the metric of what is missing on the hub. It must be called once per registry. Each scrape calls found.
func NewPreflight(registry prometheus.Registerer, found func() preflight.Report) {
	registry.MustRegister(newHubCollector(&metricSet{}, found))
}

func newHubCollector(c *metricSet, found func() preflight.Report) *hubCollector {
	kinds := Label{Name: "kind"}
	for _, kind := range preflight.Kinds() {
		kinds.Values = append(kinds.Values, string(kind))
	}
	return &hubCollector{found: found, lacks: c.collected("berth_hub_lacks",
		"CustomResourceDefinitions, their fields, and permissions that are missing on the hub, by kind. /readyz?verbose names them.", kinds)}
}

// Describe implements prometheus.Collector.
func (l *hubCollector) Describe(to chan<- *prometheus.Desc) { to <- l.lacks }

// Collect implements prometheus.Collector.
func (l *hubCollector) Collect(to chan<- prometheus.Metric) {
	counts := map[preflight.Kind]int{}
	for _, lack := range l.found().Missing {
		counts[lack.Kind]++
	}
	for _, kind := range preflight.Kinds() {
		to <- prometheus.MustNewConstMetric(l.lacks, prometheus.GaugeValue, float64(counts[kind]), string(kind))
	}
}
