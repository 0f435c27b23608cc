package telemetry

import "github.com/prometheus/client_golang/prometheus"

// The results of a query and of a write of scores.
const (
	scoreSucceeded = "succeeded"
	scoreFailed    = "failed"
)

// Scores are the metrics of the controller that writes scores.
type Scores struct {
	queries, writes   *prometheus.CounterVec
	clusters, failing *prometheus.GaugeVec
}

// NewScores registers the metrics, with every series at 0. It must be called once per registry.
func NewScores(registry prometheus.Registerer, scores []string) *Scores {
	set := &Set{}
	out := newScores(set)
	set.Register(registry)
	for _, result := range []string{scoreSucceeded, scoreFailed} {
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

func newScores(set *Set) *Scores {
	score := Label{Name: "score", Any: "the name of a score in the file of --score-config, which has at most 32"}
	result := Label{Name: "result", Values: []string{scoreSucceeded, scoreFailed}}
	return &Scores{
		queries:  set.Counter("berth_score_queries_total", "Queries of scores. While those of a score fail, its last values run out.", score, result),
		clusters: set.Gauge("berth_score_clusters", "Clusters with a value in the last query of a score that succeeded.", score),
		failing:  set.Gauge("berth_score_failing", "1 while the last query of a score failed. Its values count until they have run out, after three intervals.", score),
		writes:   set.Counter("berth_score_writes_total", "Attempted writes of AddOnPlacementScores.", result),
	}
}

// Queried counts a query.
func (s *Scores) Queried(score string, err error) {
	s.queries.WithLabelValues(score, scoreResult(err)).Inc()
	failing := 0.0
	if err != nil {
		failing = 1
	}
	s.failing.WithLabelValues(score).Set(failing)
}

// Measured records how many clusters a query had a value of.
func (s *Scores) Measured(score string, clusters int) {
	s.clusters.WithLabelValues(score).Set(float64(clusters))
}

// Wrote counts an attempted write.
func (s *Scores) Wrote(err error) { s.writes.WithLabelValues(scoreResult(err)).Inc() }

func scoreResult(err error) string {
	if err != nil {
		return scoreFailed
	}
	return scoreSucceeded
}
