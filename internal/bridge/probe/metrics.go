package probe

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

// RegisterMetrics registers the metric of clusters without an agent. It must be called once per registry. Each scrape calls count, which
// returns the number of clusters by the reason of their condition Probed.
func RegisterMetrics(registry prometheus.Registerer, count func() map[string]int) {
	set := &telemetry.Set{}
	describe(set, count)
	set.Register(registry)
}

// DescribeMetrics adds the metrics of the package to a set.
func DescribeMetrics(set *telemetry.Set) { describe(set, nil) }

func describe(set *telemetry.Set, count func() map[string]int) {
	set.Scraped("berth_probed_clusters", "Clusters without an agent that the hub reads with a Secret, by what came of it. Only those with "+
		"the reasons Probing and TokenNotRenewed are reported.",
		func(emit telemetry.Emit) {
			for reason, number := range count() {
				emit(float64(number), reason)
			}
		}, telemetry.Label{Name: "reason", Any: "a reason of the condition Probed, as in docs/operations/agentless.md"})
}
