package lease

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// hubRenewalsPrefix begins the annotations of the lease on the member: one for each cluster of a hub, by a hash of its URL and the name of
	// the cluster. The value is the UID of the lease there, a slash, and its count. Agents of one member share its lease.
	hubRenewalsPrefix = "hub-renewals.berth-project.io/"
	// maxKept bounds these annotations. Beyond it an agent drops those of all others.
	maxKept = 16
)

// Memory keeps the count of the renewals on the hub in the lease that the agent writes on its member. So an agent that starts again notices
// a hub that returned to older data in between. Its zero value is ready. A Memory is safe for concurrent use.
type Memory struct {
	mu       sync.Mutex
	counters map[string]*Counter
	// used is the annotation of the lease in use, and recalled has the annotations of the lease on the member before.
	used     string
	recalled map[string]string
}

// Of returns the counter of the renewals of a cluster on a hub, by its URL. That lease is in use from then on.
func (m *Memory) Of(server, cluster string) *Counter {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := sha256.Sum256([]byte(server + " " + cluster))
	m.used = hubRenewalsPrefix + hex.EncodeToString(sum[:8])
	if m.counters == nil {
		m.counters = map[string]*Counter{}
	}
	if m.counters[m.used] == nil {
		m.counters[m.used] = &Counter{}
		m.counters[m.used].recall(m.recalled[m.used])
	}
	return m.counters[m.used]
}

// Recall reads what another process kept in the lease, until a lease on a hub is in use: an agent that waits for another one reads what the
// other kept last.
func (m *Memory) Recall(found *coordinationv1.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counters == nil {
		m.recalled = maps.Clone(found.Annotations)
	}
}

// Keep writes the count of the hub in use into the next lease. A lease stays as it is before the first renewal.
func (m *Memory) Keep(next *coordinationv1.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counter := m.counters[m.used]
	if counter == nil {
		return
	}
	kept := counter.kept()
	if kept == "" {
		return
	}
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[m.used] = kept
	counts := 0
	for key := range next.Annotations {
		if strings.HasPrefix(key, hubRenewalsPrefix) {
			counts++
		}
	}
	if counts > maxKept {
		maps.DeleteFunc(next.Annotations, func(key, _ string) bool { return strings.HasPrefix(key, hubRenewalsPrefix) && key != m.used })
	}
}

// kept returns what recall reads; empty before the first renewal.
func (c *Counter) kept() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.uid == "" {
		return ""
	}
	return fmt.Sprintf("%s/%d", c.uid, c.count)
}

// recall records what was kept. What cannot be read is no count.
func (c *Counter) recall(kept string) {
	uid, text, _ := strings.Cut(kept, "/")
	if count, err := strconv.ParseInt(text, 10, 32); err == nil {
		c.uid, c.count = types.UID(uid), int32(count)
	}
}
