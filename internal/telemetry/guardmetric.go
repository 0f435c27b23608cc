package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/guard"
)

// guardCollector collects the roles whose admission guard is missing.
type guardCollector struct {
	found     func() []guard.Unguarded
	unguarded *prometheus.Desc
}

// NewGuard registers the metric of roles whose admission guard is missing. It must be called once per registry. Each scrape calls
// found.
func NewGuard(registry prometheus.Registerer, found func() []guard.Unguarded) {
	registry.MustRegister(newGuardCollector(&metricSet{}, found))
}

func newGuardCollector(c *metricSet, found func() []guard.Unguarded) *guardCollector {
	return &guardCollector{found: found, unguarded: c.collected("berth_role_unguarded",
		"1 if the ClusterRole is on the hub without the admission guard that it needs, else 0.",
		Label{Name: "role", Values: guard.Roles()})}
}

// Describe implements prometheus.Collector.
func (g *guardCollector) Describe(to chan<- *prometheus.Desc) { to <- g.unguarded }

// Collect implements prometheus.Collector.
func (g *guardCollector) Collect(to chan<- prometheus.Metric) {
	found := g.found()
	for _, role := range guard.Roles() {
		value := 0.0
		if slices.ContainsFunc(found, func(u guard.Unguarded) bool { return u.Role == role }) {
			value = 1
		}
		to <- prometheus.MustNewConstMetric(g.unguarded, prometheus.GaugeValue, value, role)
	}
}
