package lease

import (
	"math"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Counter notices that a server returned to older data. It counts the writes of a lease in spec.leaseTransitions, and expects the count
// back with the UID of the lease. A restore may raise the versions of objects, but not the count. Another agent with the same lease only
// raises it. A Counter is safe for concurrent use.
type Counter struct {
	mu    sync.Mutex
	uid   types.UID
	count int32
}

// Older returns whether a lease is from before the last write that was recorded, or is another lease.
func (c *Counter) Older(found *coordinationv1.Lease) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.uid != "" && (found.UID != c.uid || countOf(found) < c.count)
}

// Record records a lease as the server returned it.
func (c *Counter) Record(returned *coordinationv1.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uid, c.count = returned.UID, countOf(returned)
}

// raise counts the next write of a lease.
func raise(next *coordinationv1.Lease) {
	count := countOf(next)
	if count == math.MaxInt32 {
		return // some thousand years of renewals, or another writer: the count stays
	}
	count++
	next.Spec.LeaseTransitions = &count
}

func countOf(lease *coordinationv1.Lease) int32 {
	if lease.Spec.LeaseTransitions == nil {
		return 0
	}
	return *lease.Spec.LeaseTransitions
}
