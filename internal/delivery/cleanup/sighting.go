package cleanup

import (
	"maps"
	"sync"
	"time"
)

// sightings stores since when this process has seen something, by the manager's clock: a ManagedCluster that does not exist has no
// timestamp, and the times in a status are by the clock of the member. After a restart each wait begins again.
type sightings struct {
	mu    sync.Mutex
	first map[string]sighting
	// keep is how long a sighting is kept at most; 0: until it ends.
	keep time.Duration
}

type sighting struct {
	state string
	at    time.Time
}

// look returns since when something has a state; zero where it has none, which ends the sighting.
func (s *sightings) look(name, state string, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == "" {
		delete(s.first, name)
		return time.Time{}
	}
	found, known := s.first[name]
	if known && found.state == state {
		return found.at
	}
	if s.keep > 0 {
		maps.DeleteFunc(s.first, func(_ string, each sighting) bool { return now.Sub(each.at) > s.keep })
	}
	s.first[name] = sighting{state, now}
	return now
}
