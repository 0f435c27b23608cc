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
func (r *ScoreReads) AnyExpired() bool { return len(r.expired) > 0 }

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
func (r *ScoreReads) Without(gone *bitset.BitSet) *ScoreReads {
	out := &ScoreReads{Until: r.Until, expired: make(map[string]*bitset.BitSet, len(r.expired))}
	for resource, on := range r.expired {
		out.expired[resource] = on.Difference(gone)
	}
	return out
}

// read returns the score of a resource for a cluster, and records it.
func (r *ScoreReads) read(s *fleet.Snapshot, id fleet.ID, resource string) *fleet.Score {
	found := s.Score(id, resource)
	switch {
	case found == nil || found.ValidUntil.IsZero():
	case found.Expired(s.Now):
		if r.expired == nil {
			r.expired = map[string]*bitset.BitSet{}
		}
		if r.expired[resource] == nil {
			r.expired[resource] = &bitset.BitSet{}
		}
		r.expired[resource].Set(id)
	default:
		r.Until = earliest(r.Until, found.ValidUntil.Add(1))
	}
	return found
}
