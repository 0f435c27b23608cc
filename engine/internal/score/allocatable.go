package score

import (
	"math"

	"github.com/berth-project/berth/engine/fleet"
)

// allocatable prefers clusters that can allocate more of a resource: from -100 for the least of all candidates to 100 for
// the most, and 100 for each if all have the same. It reads status.allocatable and capacity. A cluster that does not
// report the resource gets 0, the middle.
func allocatable(in Input, of fleet.Amounts, values []int32) {
	least, most := allocatableRange(in.Candidates, &of)
	for i, id := range in.Candidates {
		switch has := of.Of(id); {
		case !has.Known:
		case least >= most || has.Amount >= most:
			values[i] = maxScore
		case has.Amount <= least:
			values[i] = minScore
		default:
			share := (has.Amount/2 - least/2) / (most/2 - least/2) // halves, so that no difference is infinite
			values[i] = int32((share - 0.5) * 2 * 100)
		}
	}
}

// allocatableRange returns the lowest and highest amount of a candidate; least exceeds most if no amount is known.
func allocatableRange(candidates []fleet.ID, of *fleet.Amounts) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, id := range candidates {
		has := of.Of(id)
		if !has.Known {
			continue
		}
		if has.Amount < least {
			least = has.Amount
		}
		if has.Amount > most {
			most = has.Amount
		}
	}
	return least, most
}
