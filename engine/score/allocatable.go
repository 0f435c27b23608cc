package score

import (
	"math"
	"slices"

	"github.com/berth-project/berth/engine/fleet"
)

// allocatable prefers clusters that can allocate more of a resource: from -100 for the least of all candidates to 100
// for the most, and 100 for each where all have the same. It reads status.allocatable and capacity. A cluster that
// does not say counts 0, the middle. Guests are measured by the others, and by each other only where there are none.
func allocatable(in Input, of fleet.Amounts, values []int32) {
	least, most := measure(in, &of)
	for i, id := range in.Candidates {
		has := of.Of(id)
		switch {
		case !has.Known:
		case least >= most:
			values[i] = best
		default:
			share := (min(max(has.Amount, least), most) - least) / (most - least)
			values[i] = int32((share - 0.5) * 2 * 100)
		}
	}
}

// measure returns the least and the most of a resource that a candidate has; least exceeds most where none says.
func measure(in Input, of *fleet.Amounts) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	everybody := in.Guests.None() || !slices.ContainsFunc(in.Candidates, func(id fleet.ID) bool { return !in.Guests.Test(id) })
	for _, id := range in.Candidates {
		if has := of.Of(id); has.Known && (everybody || !in.Guests.Test(id)) {
			least, most = min(least, has.Amount), max(most, has.Amount)
		}
	}
	return least, most
}
