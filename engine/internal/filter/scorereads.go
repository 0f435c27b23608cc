package filter

import (
	"maps"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// ScoreReads records the add-on scores that the expressions of one stage read.
type ScoreReads struct {
	// Until is the earliest instant at which one of them goes out of date; zero if none has an end.
	Until time.Time

	// expired has the clusters on which a resource was out of date, by resource.
	expired map[string]*bitset.BitSet
}

// AnyExpired reports whether any of them was out of date.
func (a *ScoreReads) AnyExpired() bool { return len(a.expired) > 0 }

// Expired returns the clusters on which a resource was out of date, over all stages, by resource.
func Expired(stages ...*ScoreReads) map[string]*bitset.BitSet {
	on := map[string]*bitset.BitSet{}
	for _, stage := range stages {
		for resource, clusters := range stage.expired {
			if on[resource] == nil {
				on[resource] = &bitset.BitSet{}
			}
			on[resource].InPlaceUnion(clusters)
		}
	}
	maps.DeleteFunc(on, func(_ string, clusters *bitset.BitSet) bool { return !clusters.Any() })
	return on
}

// Without returns the reads without those on the clusters of gone. Until stays: a time that is too early is harmless.
func (a *ScoreReads) Without(gone *bitset.BitSet) *ScoreReads {
	out := &ScoreReads{Until: a.Until, expired: make(map[string]*bitset.BitSet, len(a.expired))}
	for resource, on := range a.expired {
		out.expired[resource] = on.Difference(gone)
	}
	return out
}

// read returns the score of a resource for a cluster, and records it.
func (a *ScoreReads) read(s *fleet.Snapshot, id fleet.ID, resource string) *fleet.Score {
	found := s.Score(id, resource)
	switch {
	case found == nil || found.ValidUntil.IsZero():
	case found.Expired(s.Now):
		if a.expired == nil {
			a.expired = map[string]*bitset.BitSet{}
		}
		if a.expired[resource] == nil {
			a.expired[resource] = &bitset.BitSet{}
		}
		a.expired[resource].Set(id)
	default:
		a.Until = earliest(a.Until, found.ValidUntil.Add(1))
	}
	return found
}
