package score

// balance prefers clusters that few other placements have selected. A cluster without decisions gets 100, a cluster with
// the most decisions gets -100. It reads the decisions of all placements. A cluster that this placement has selected gets
// the best score that Balance can give for its weight, so that Balance alone never moves a decision.
func balance(in Input, weight int64, values []int32) {
	stored := in.Snapshot.Incumbents(in.Key)
	most := in.Snapshot.MaxDecisionCount(stored)
	value := func(others int) int32 {
		if most == 0 {
			return maxScore
		}
		return 2 * int32(100*(0.5-float64(others)/float64(most)))
	}
	for i, id := range in.Candidates {
		values[i] = value(in.Snapshot.DecisionCount(id))
	}
	for i := range in.Positions(stored.All()) {
		values[i] = value(in.Snapshot.DecisionCount(in.Candidates[i]) - 1)
	}
	for i := range in.Positions(in.Incumbents.EachSet()) {
		values[i] = maxScore
		if weight < 0 {
			values[i] = minScore
		}
	}
}
