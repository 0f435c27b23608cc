package score

import (
	"iter"
	"slices"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

const (
	maxScore = 100
	minScore = -100
)

// Input is what prioritizers may read.
type Input struct {
	Snapshot *fleet.Snapshot
	Key      fleet.Key
	// Candidates are the clusters that passed every filter.
	Candidates []fleet.ID
	// Incumbents are the clusters that the placement has selected, or would have selected in a trial: the snapshot may
	// differ.
	Incumbents *bitset.BitSet
	// RetainedOnly are the candidates that passed a filter only because they are incumbents. They stop being candidates
	// once they are dropped. Selection reads it; scores do not.
	RetainedOnly *bitset.BitSet
	// Penalized are the candidates with a PreferNoSelect taint that is not tolerated. Selection reads it; scores do not.
	Penalized *bitset.BitSet
}

// Positions yields, in order, the positions of the candidates that are among clusters. The clusters come in order of
// their IDs.
func (i Input) Positions(of iter.Seq[fleet.ID]) iter.Seq[int] {
	return func(yield func(int) bool) {
		next := 0
		for id := range of {
			if next < len(i.Candidates) && i.Candidates[next] != id {
				skipped, _ := slices.BinarySearch(i.Candidates[next:], id)
				next += skipped
			}
			switch {
			case next == len(i.Candidates):
				return
			case i.Candidates[next] != id:
			case !yield(next):
				return
			default:
				next++
			}
		}
	}
}

// Column is the scores of one prioritizer for every candidate.
type Column struct {
	Prioritizer program.Prioritizer
	Values      []int32
	// Until is the earliest instant at which a value will change by itself; zero if no value will change.
	Until time.Time
	// Expired counts the candidates without a value because it is out of date.
	Expired int
	// Lost counts the candidates with a last value that counts if they are incumbents.
	Lost int
}

// IndependentOfSelection reports whether the scores of a prioritizer do not depend on which candidates are selected.
// Candidates that are retained only are an exception, and so is a column with lost values.
func IndependentOfSelection(by program.Prioritizer) bool {
	return by.Kind != program.Balance && by.Kind != program.Steady
}

// Compute scores every candidate by one prioritizer. The values go into room, which must have a zero for each candidate.
// The column keeps room.
func Compute(in Input, by program.Prioritizer, room []int32) Column {
	out := Column{Prioritizer: by, Values: room}
	switch by.Kind {
	case program.Balance:
		balance(in, by.Weight, out.Values)
	case program.Steady:
		steady(in, by.Weight, out.Values)
	case program.AllocatableCPU:
		allocatable(in, in.Snapshot.CPU(), out.Values)
	case program.AllocatableMemory:
		allocatable(in, in.Snapshot.Memory(), out.Values)
	case program.AddOn:
		addOn(in, &out)
	default:
		panic("score: prioritizer without a formula: " + by.Name())
	}
	return out
}
