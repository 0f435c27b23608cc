package profile

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

// The kinds that the controller profile writes, as labels of metrics.
const (
	kindProfile  = "ClusterProfile"
	kindDecision = "PlacementDecision"
)

// The results of a write of the controller profile.
const (
	resultSucceeded = "succeeded"
	resultFailed    = "failed"
)

// Metrics are the metrics of the controller that writes inventories.
type Metrics struct {
	writes *prometheus.CounterVec
}

// NewMetrics registers the metrics, with every series at 0. It must be called once per registry. Each scrape calls blocked, which
// returns the number of profiles that are not written, because another cluster manager has them.
func NewMetrics(registry prometheus.Registerer, blocked func() int) *Metrics {
	set := &telemetry.Set{}
	out := newMetrics(set, blocked)
	set.Register(registry)
	for _, kind := range []string{kindProfile, kindDecision} {
		for _, result := range []string{resultSucceeded, resultFailed} {
			out.writes.WithLabelValues(kind, result)
		}
	}
	return out
}

// DescribeMetrics adds the metrics of the package to a set.
func DescribeMetrics(set *telemetry.Set) { newMetrics(set, nil) }

func newMetrics(set *telemetry.Set, blocked func() int) *Metrics {
	kind := telemetry.Label{Name: "kind", Values: []string{kindProfile, kindDecision}}
	result := telemetry.Label{Name: "result", Values: []string{resultSucceeded, resultFailed}}
	set.Scraped("berth_profiles_blocked", "ClusterProfiles that are not written, because another cluster manager has one of "+
		"this name in the namespace.",
		func(emit telemetry.Emit) { emit(float64(blocked())) })
	return &Metrics{writes: set.Counter("berth_profile_writes_total",
		"Attempted writes of ClusterProfiles and of PlacementDecisions in the group multicluster.x-k8s.io.", kind, result)}
}

// Wrote counts an attempted write.
func (m *Metrics) Wrote(kind string, err error) {
	result := resultSucceeded
	if err != nil {
		result = resultFailed
	}
	m.writes.WithLabelValues(kind, result).Inc()
}
