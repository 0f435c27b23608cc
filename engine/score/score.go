package score

import (
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

const (
	best  = 100
	worst = -100
)

// Input is what prioritizers may look at.
type Input struct {
	Snapshot *fleet.Snapshot
	Key      fleet.Key
	// Candidates are the clusters to score: those that passed every filter.
	Candidates []fleet.ID
	// Incumbents are the clusters that the placement has selected so far, or would have in a run that is tried out: the
	// snapshot may say otherwise.
	Incumbents *bitset.BitSet
	// Guests are the candidates that passed a filter only because they are incumbents. Once dropped they are candidates
	// no more, so no value of another cluster may depend on them.
	Guests *bitset.BitSet
	// Demoted are the candidates with a PreferNoSelect taint that is not tolerated. No score reads it; selection does.
	Demoted *bitset.BitSet
}

// Column is what one prioritizer says of every candidate.
type Column struct {
	Prioritizer program.Prioritizer
	Values      []int64
	// Until is the earliest instant at which a value will change by itself; zero where none will.
	Until time.Time
	// Expired counts the candidates whose value no longer counts because it is out of date.
	Expired int
}

// Of scores every candidate by one prioritizer.
func Of(in Input, by program.Prioritizer) Column {
	out := Column{Prioritizer: by, Values: make([]int64, len(in.Candidates))}
	switch by.Kind {
	case program.Balance:
		balance(in, by.Weight, out.Values)
	case program.Steady:
		steady(in, by.Weight, out.Values)
	case program.AllocatableCPU:
		allocatable(in, func(c *fleet.Cluster) fleet.Allocatable { return c.CPU }, out.Values)
	case program.AllocatableMemory:
		allocatable(in, func(c *fleet.Cluster) fleet.Allocatable { return c.Memory }, out.Values)
	case program.AddOn:
		addOn(in, &out)
	default:
		panic("score: prioritizer without a formula: " + by.Name())
	}
	return out
}
