package score

// steady prefers clusters that this placement has selected: 100 for them, 0 for all others. It reads the placement's
// own decisions. A negative weight would trade every cluster for another at each run, for ever, so it counts as
// nothing.
func steady(in Input, weight int64, values []int32) {
	if weight < 0 {
		return
	}
	for i := range in.Positions(in.Incumbents.EachSet()) {
		values[i] = maxScore
	}
}
