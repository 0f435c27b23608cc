package inventory

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

// The states of the ClusterProfiles that the controller inventory imports.
const (
	// stateImported profiles have a cluster.
	stateImported = "imported"
	// stateMissing profiles are gone, and their clusters are still there.
	stateMissing = "missing"
	// stateBlocked profiles have the name of a cluster that does not come from them, or a name that no cluster may have.
	stateBlocked = "blocked"
)

// RegisterMetrics registers the metric of imported clusters. It must be called once per registry. Each scrape calls count, which returns
// the number of profiles by state.
func RegisterMetrics(registry prometheus.Registerer, count func() map[string]int) {
	set := &telemetry.Set{}
	describe(set, count)
	set.Register(registry)
}

// DescribeMetrics adds the metrics of the package to a set.
func DescribeMetrics(set *telemetry.Set) { describe(set, nil) }

func describe(set *telemetry.Set, count func() map[string]int) {
	states := []string{stateBlocked, stateImported, stateMissing}
	set.Scraped("berth_inventory_profiles", "ClusterProfiles of other cluster managers that are imported as clusters, by state. Those that "+
		"are missing were deleted, and their clusters wait for it.",
		func(emit telemetry.Emit) {
			numbers := count()
			for _, state := range states {
				emit(float64(numbers[state]), state)
			}
		}, telemetry.Label{Name: "state", Values: states})
}
