package telemetry

import "github.com/prometheus/client_golang/prometheus"

// RegisterProbes registers the metric of clusters without an agent. It must be called once per registry. Each scrape calls count, which
// returns the number of clusters by the reason of their condition Probed.
func RegisterProbes(registry prometheus.Registerer, count func() map[string]int) {
	c := &metricSet{}
	newProbes(c, count)
	registry.MustRegister(c.collectors...)
}

func newProbes(c *metricSet, count func() map[string]int) {
	c.scraped("berth_probed_clusters", "Clusters without an agent that the hub reads with a Secret, by what came of it. Only those with the reasons Probing and TokenNotRenewed are reported.",
		func(set emit) {
			for reason, number := range count() {
				set(float64(number), reason)
			}
		}, Label{Name: "reason", Any: "a reason of the condition Probed, as in docs/operations/agentless.md"})
}
