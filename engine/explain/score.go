package explain

import (
	"fmt"
	"strconv"
	"time"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// rawText returns the input of a prioritizer for a cluster.
func (e *explainer) rawText(by program.Prioritizer, id fleet.ID) string {
	snapshot := e.trace.Snapshot
	switch by.Kind {
	case program.Balance:
		others := snapshot.DecisionCount(id)
		if e.incumbents[id] {
			others--
		}
		return fmt.Sprintf("in %d other placements", others)
	case program.Steady:
		if e.incumbents[id] {
			return "selected before"
		}
		return "not selected before"
	case program.AllocatableCPU:
		return amountText(snapshot.Cluster(id).CPU, 1, "CPUs")
	case program.AllocatableMemory:
		return amountText(snapshot.Cluster(id).Memory, 1<<30, "GiB")
	default:
		return scoreText(snapshot.Score(id, by.Resource), by.Score, snapshot.Now)
	}
}

func amountText(in fleet.Allocatable, unit float64, name string) string {
	if !in.Known {
		return "not reported"
	}
	return strconv.FormatFloat(in.Amount/unit, 'g', 6, 64) + " " + name + " allocatable"
}

func scoreText(score *fleet.Score, name string, now time.Time) string {
	if score == nil {
		return "not given"
	}
	value, ok := score.Value(name)
	switch {
	case !ok:
		return "not given"
	case score.Expired(now):
		return fmt.Sprintf("%d, out of date since %s", value, timeText(score.ValidUntil))
	default:
		return strconv.Itoa(int(value))
	}
}
