package score

import (
	"math"

	"github.com/berth-project/berth/engine/fleet"
)

// allocatable prefers clusters that can allocate more of a resource: from -100 for the least of all candidates to 100
// for the most, and 100 for each where all have the same. It reads status.allocatable and capacity. A cluster that
// does not say counts 0, the middle.
func allocatable(in Input, of func(*fleet.Cluster) fleet.Allocatable, values []int64) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, id := range in.Candidates {
		if has := of(in.Snapshot.Cluster(id)); has.Known {
			least, most = min(least, has.Amount), max(most, has.Amount)
		}
	}
	for i, id := range in.Candidates {
		has := of(in.Snapshot.Cluster(id))
		switch {
		case !has.Known:
		case least == most:
			values[i] = best
		default:
			share := (has.Amount - least) / (most - least)
			values[i] = int64((share - 0.5) * 2 * 100)
		}
	}
}
