package score

// steady prefers clusters that this placement has selected: 100 for them, 0 for all others. It reads the placement's
// own decisions. A negative weight would replace every cluster at each decision, without end, so it counts as 0.
func steady(in Input, weight int64, values []int32) {
	if weight < 0 {
		return
	}
	for i := range in.Positions(in.Incumbents.EachSet()) {
		values[i] = maxScore
	}
}
