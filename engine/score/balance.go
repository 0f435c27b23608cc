package score

import "github.com/bits-and-blooms/bitset"

// balance prefers clusters that few other placements have selected: 100 for one that none has, -100 for the one that
// most have. It reads the decisions of all placements. A cluster that this placement has selected gets the best that
// Balance can give for its weight, so that Balance alone never moves a decision.
func balance(in Input, weight int64, values []int64) {
	own := &bitset.BitSet{}
	for _, id := range in.Snapshot.Incumbents(in.Key) {
		own.Set(id)
	}
	most := in.Snapshot.MostChosen(in.Snapshot.Incumbents(in.Key))
	for i, id := range in.Candidates {
		switch {
		case in.Incumbents.Test(id) && weight < 0:
			values[i] = worst
		case in.Incumbents.Test(id) || most == 0:
			values[i] = best
		default:
			others := in.Snapshot.Chosen(id)
			if own.Test(id) {
				others--
			}
			values[i] = 2 * int64(100*(0.5-float64(others)/float64(most)))
		}
	}
}
