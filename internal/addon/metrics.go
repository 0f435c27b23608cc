package addon

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

// Metrics are the metrics of the controller that installs add-ons.
type Metrics struct{ writes *prometheus.CounterVec }

// NewMetrics registers the metrics, with every series at 0. It must be called once per registry. Each scrape calls read.
func NewMetrics(registry prometheus.Registerer, read func() telemetry.RolloutState) *Metrics {
	set := &telemetry.Set{}
	out := newMetrics(set, read)
	set.Register(registry)
	for _, verb := range plan.Verbs() {
		for _, result := range telemetry.WriteResults() {
			out.writes.WithLabelValues(verb.String(), result)
		}
	}
	return out
}

// DescribeMetrics adds the metrics of the package to a set.
func DescribeMetrics(set *telemetry.Set) { newMetrics(set, nil) }

func newMetrics(set *telemetry.Set, read func() telemetry.RolloutState) *Metrics {
	telemetry.ScrapeRollouts(set,
		telemetry.Description{
			Name: "berth_addon_rollouts",
			Help: "Rollouts of add-ons, one for each placement of a ClusterManagementAddOn, by phase.",
		},
		telemetry.Description{
			Name: "berth_addon_clusters",
			Help: "Clusters that the placements of add-ons select, by how far the configuration has come there. A " +
				"cluster counts once for each add-on.",
		}, read)
	return &Metrics{writes: set.Counter("berth_addon_writes_total",
		"Attempted writes of ManagedClusterAddOns, by verb and result: stored, conflict (another client wrote first), refused (the API server "+
			"refuses the object) or failed.",
		telemetry.Label{Name: "verb", Values: telemetry.Texts(plan.Verbs())}, telemetry.Label{Name: "result", Values: telemetry.WriteResults()})}
}

// AddWrite counts an attempted write of a ManagedClusterAddOn.
func (m *Metrics) AddWrite(verb plan.Verb, result string) {
	m.writes.WithLabelValues(verb.String(), result).Inc()
}
