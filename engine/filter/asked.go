package filter

import (
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// Asked is the account of the add-on scores that the expressions of one run asked for.
type Asked struct {
	// Until is the earliest instant at which one of them goes out of date; zero where none will.
	Until time.Time

	expired map[string]*bitset.BitSet
}

// Expired returns, for each resource that was out of date somewhere, on how many clusters it was.
func (a *Asked) Expired() map[string]int {
	out := make(map[string]int, len(a.expired))
	for resource, on := range a.expired {
		out[resource] = int(on.Count())
	}
	return out
}

// score returns what a resource says of a cluster, and notes that it was asked for.
func (a *Asked) score(s *fleet.Snapshot, id fleet.ID, resource string) *fleet.Score {
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
