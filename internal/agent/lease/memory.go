package lease

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
)

// hubRenewalsAnnotation is on the lease on the member: the hub, by a hash of its URL, the UID of the lease there, and its count.
const hubRenewalsAnnotation = "berth-project.io/hub-renewals"

// Memory keeps the count of the renewals on the hub in the lease that the agent writes on its member. So an agent that starts again notices
// a hub that returned to older data in between. Its zero value is ready. A Memory is safe for concurrent use.
type Memory struct {
	mu       sync.Mutex
	counters map[string]*Counter
	// server is the hub in use, and recalled the annotation of the lease that was read first.
	server   string
	recalled *string
}

// Of returns the counter of the renewals on a hub, by its URL. That hub is in use from then on.
func (m *Memory) Of(server string) *Counter {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.server = server
	if m.counters == nil {
		m.counters = map[string]*Counter{}
	}
	if m.counters[server] == nil {
		m.counters[server] = &Counter{}
		if m.recalled != nil {
			m.counters[server].recall(server, *m.recalled)
		}
	}
	return m.counters[server]
}

// Recall reads what an earlier process kept in the lease. Only the first lease counts.
func (m *Memory) Recall(found *coordinationv1.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.recalled == nil {
		kept := found.Annotations[hubRenewalsAnnotation]
		m.recalled = &kept
	}
}

// Keep writes the count of the hub in use into the next lease. A lease stays as it is before the first renewal.
func (m *Memory) Keep(next *coordinationv1.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counter := m.counters[m.server]
	if counter == nil {
		return
	}
	if kept := counter.kept(m.server); kept != "" {
		if next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		next.Annotations[hubRenewalsAnnotation] = kept
	}
}

// kept returns what Recall reads; empty before the first renewal.
func (c *Counter) kept(server string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.uid == "" {
		return ""
	}
	return fmt.Sprintf("%s/%s/%d", serverHash(server), c.uid, c.count)
}

// recall records what was kept. A count of another hub, or one that cannot be read, is no count.
func (c *Counter) recall(server, kept string) {
	parts := strings.Split(kept, "/")
	if len(parts) != 3 || parts[0] != serverHash(server) {
		return
	}
	count, err := strconv.ParseInt(parts[2], 10, 32)
	if err != nil {
		return
	}
	c.uid, c.count = types.UID(parts[1]), int32(count)
}

func serverHash(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:8])
}
