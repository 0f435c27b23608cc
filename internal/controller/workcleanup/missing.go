package workcleanup

import (
	"maps"
	"sync"
	"time"
)

// missing stores since when this process has seen a cluster missing: a ManagedCluster that does not exist has no timestamp. After a restart
// the wait begins again.
type missing struct {
	mu    sync.Mutex
	since map[string]time.Time
	// keep is how long an entry is kept, which bounds them.
	keep time.Duration
}

// look returns since when a cluster is missing; zero while it exists.
func (m *missing) look(cluster string, exists bool, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if exists {
		delete(m.since, cluster)
		return time.Time{}
	}
	since, known := m.since[cluster]
	if !known {
		maps.DeleteFunc(m.since, func(_ string, since time.Time) bool { return now.Sub(since) > m.keep })
		since = now
		m.since[cluster] = since
	}
	return since
}
