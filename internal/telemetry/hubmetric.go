package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/preflight"
)

// hubCollector shows how much the hub lacks of what Berth needs. It is a prometheus.Collector.
type hubCollector struct {
	found func() preflight.Report
	lacks *prometheus.Desc
}

// NewPreflight makes the metric of what the hub lacks, and registers it. It must be called once per registry. Found is called
// whenever the metric is read.
func NewPreflight(registry prometheus.Registerer, found func() preflight.Report) {
	registry.MustRegister(newHubCollector(&metricSet{}, found))
}

func newHubCollector(c *metricSet, found func() preflight.Report) *hubCollector {
	kinds := Label{Name: "kind"}
	for _, kind := range preflight.Kinds() {
		kinds.Values = append(kinds.Values, string(kind))
	}
	return &hubCollector{found: found, lacks: c.collected("berth_hub_lacks",
		"Definitions, fields of definitions and permissions that the hub lacks, by kind. /readyz?verbose names them.", kinds)}
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
