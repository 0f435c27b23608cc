package score

import (
	"fmt"
	"time"

	"github.com/berth-project/berth/internal/source/score"
)

// objectScores are the scores of one AddOnPlacementScore of each cluster.
type objectScores struct {
	names []string
	// interval is the time between two queries of each.
	interval time.Duration
}

// explain returns why a score of a cluster is not measured any more. failures are why the last queries of scores failed, by score.
func explain(failures map[string]string) func(name string) (reason, message string) {
	return func(name string) (reason, message string) {
		if failure, failed := failures[name]; failed {
			return score.ReasonSourceFailed, fmt.Sprintf("The query of %s fails, and the last value counts until it has run out: %s", name, failure)
		}
		return score.ReasonClusterMissing, fmt.Sprintf("The query of %s has no value of this cluster any more. The last one "+
			"counts until it has run out.", name)
	}
}
