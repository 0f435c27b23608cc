package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/preflight"
)

// lacking shows how much the hub lacks of what Berth needs. It is a prometheus.Collector.
type lacking struct {
	found func() preflight.Finding
	lacks *prometheus.Desc
}

// NewPreflight makes the metric of what the hub lacks, and registers it. It must be called once per registry. Found is called
// whenever the metric is read.
func NewPreflight(registry prometheus.Registerer, found func() preflight.Finding) {
	registry.MustRegister(newPreflight(&catalogue{}, found))
}

func newPreflight(c *catalogue, found func() preflight.Finding) *lacking {
	kinds := Label{Name: "kind"}
	for _, kind := range preflight.Kinds() {
		kinds.Values = append(kinds.Values, string(kind))
	}
	return &lacking{found: found, lacks: c.asked("berth_hub_lacks",
		"Definitions, fields of definitions and permissions that the hub lacks, by kind. /readyz?verbose names them.", kinds)}
}

// Describe implements prometheus.Collector.
func (l *lacking) Describe(to chan<- *prometheus.Desc) { to <- l.lacks }

// Collect implements prometheus.Collector.
func (l *lacking) Collect(to chan<- prometheus.Metric) {
	counts := map[preflight.Kind]int{}
	for _, lack := range l.found().Lacks {
		counts[lack.Kind]++
	}
	for _, kind := range preflight.Kinds() {
		to <- prometheus.MustNewConstMetric(l.lacks, prometheus.GaugeValue, float64(counts[kind]), string(kind))
	}
}
