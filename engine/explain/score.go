package explain

import (
	"fmt"
	"strconv"
	"time"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// raw renders what a prioritizer looks at in a cluster.
func (r *report) raw(by program.Prioritizer, id fleet.ID) string {
	snapshot := r.trace.Snapshot
	switch by.Kind {
	case program.Balance:
		others := snapshot.Chosen(id)
		if r.seated[id] {
			others--
		}
		return fmt.Sprintf("in %d other placements", others)
	case program.Steady:
		if r.seated[id] {
			return "selected before"
		}
		return "not selected before"
	case program.AllocatableCPU:
		return amount(snapshot.Cluster(id).CPU, 1, "CPUs")
	case program.AllocatableMemory:
		return amount(snapshot.Cluster(id).Memory, 1<<30, "GiB")
	default:
		return given(snapshot.Score(id, by.Resource), by.Score, snapshot.Now)
	}
}

func amount(in fleet.Allocatable, unit float64, name string) string {
	if !in.Known {
		return "not reported"
	}
	return strconv.FormatFloat(in.Amount/unit, 'g', 6, 64) + " " + name + " allocatable"
}

func given(score *fleet.Score, name string, now time.Time) string {
	if score == nil {
		return "not given"
	}
	value, ok := score.Value(name)
	switch {
	case !ok:
		return "not given"
	case score.Expired(now):
		return fmt.Sprintf("%d, out of date since %s", value, instant(score.ValidUntil))
	default:
		return strconv.Itoa(int(value))
	}
}
