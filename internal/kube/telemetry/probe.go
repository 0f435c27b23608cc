package telemetry

import "github.com/prometheus/client_golang/prometheus"

// RegisterProbes registers the metric of clusters without an agent. It must be called once per registry. Each scrape calls count, which
// returns the number of clusters by the reason of their condition Probed.
func RegisterProbes(registry prometheus.Registerer, count func() map[string]int) {
	set := &Set{}
	newProbes(set, count)
	set.Register(registry)
}

func newProbes(set *Set, count func() map[string]int) {
	set.Scraped("berth_probed_clusters", "Clusters without an agent that the hub reads with a Secret, by what came of it. Only those with the reasons Probing and TokenNotRenewed are reported.",
		func(emit Emit) {
			for reason, number := range count() {
				emit(float64(number), reason)
			}
		}, Label{Name: "reason", Any: "a reason of the condition Probed, as in docs/operations/agentless.md"})
}
