package score

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

// The results of a query and of a write of scores.
const (
	resultSucceeded = "succeeded"
	resultFailed    = "failed"
)

// Metrics are the metrics of the controller that writes scores.
type Metrics struct {
	queries, writes   *prometheus.CounterVec
	clusters, failing *prometheus.GaugeVec
}

// NewMetrics registers the metrics, with every series at 0. It must be called once per registry.
func NewMetrics(registry prometheus.Registerer, scores []string) *Metrics {
	set := &telemetry.Set{}
	out := newMetrics(set)
	set.Register(registry)
	for _, result := range []string{resultSucceeded, resultFailed} {
		out.writes.WithLabelValues(result)
		for _, score := range scores {
			out.queries.WithLabelValues(score, result)
		}
	}
	for _, score := range scores {
		out.clusters.WithLabelValues(score)
		out.failing.WithLabelValues(score)
	}
	return out
}

// DescribeMetrics adds the metrics of the package to a set.
func DescribeMetrics(set *telemetry.Set) { newMetrics(set) }

func newMetrics(set *telemetry.Set) *Metrics {
	score := telemetry.Label{Name: "score", Any: "the name of a score in the file of --score-config, which has at most 32"}
	result := telemetry.Label{Name: "result", Values: []string{resultSucceeded, resultFailed}}
	return &Metrics{
		queries: set.Counter("berth_score_queries_total", "Queries of scores. While those of a score fail, its last values run out.", score,
			result),
		clusters: set.Gauge("berth_score_clusters", "Clusters with a value in the last query of a score that succeeded.", score),
		failing: set.Gauge("berth_score_failing", "1 while the last query of a score failed. Its values count until they have run "+
			"out, after three intervals.", score),
		writes: set.Counter("berth_score_writes_total", "Attempted writes of AddOnPlacementScores.", result),
	}
}

// Queried counts a query.
func (m *Metrics) Queried(score string, err error) {
	m.queries.WithLabelValues(score, resultOf(err)).Inc()
	failing := 0.0
	if err != nil {
		failing = 1
	}
	m.failing.WithLabelValues(score).Set(failing)
}

// Measured records how many clusters a query had a value of.
func (m *Metrics) Measured(score string, clusters int) {
	m.clusters.WithLabelValues(score).Set(float64(clusters))
}

// Wrote counts an attempted write.
func (m *Metrics) Wrote(err error) { m.writes.WithLabelValues(resultOf(err)).Inc() }

func resultOf(err error) string {
	if err != nil {
		return resultFailed
	}
	return resultSucceeded
}
