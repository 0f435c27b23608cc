package inventory

import (
	"sync"
	"time"
)

const (
	// budgetWindow is the time in which the clusters of one inventory may be deleted up to the budget.
	budgetWindow = 10 * time.Minute
	// budgetShare is the share of an inventory that may be deleted in a window: one in twenty, and always one cluster.
	budgetShare = 20
	// heldShare is the share of an inventory that may lack profiles: one in four. Beyond it the inventory itself has failed, and nothing is
	// deleted.
	heldShare = 4
)

// budget bounds the deletions of clusters, by the label of their inventory. It counts in memory: a restart deletes at most as much again.
type budget struct {
	mu     sync.Mutex
	recent map[string][]time.Time
}

func newBudget() *budget { return &budget{recent: map[string][]time.Time{}} }

// take reports whether a cluster may be deleted now. Total is how many clusters the inventory has, and missing how many of them lack
// their profiles.
func (b *budget) take(inventory string, total, missing int, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	var kept []time.Time
	for _, at := range b.recent[inventory] {
		if now.Sub(at) < budgetWindow {
			kept = append(kept, at)
		}
	}
	b.recent[inventory] = kept
	if missing > max(1, total/heldShare) || len(kept) >= max(1, (total+len(kept))/budgetShare) {
		if len(kept) == 0 {
			delete(b.recent, inventory)
		}
		return false
	}
	b.recent[inventory] = append(kept, now)
	return true
}
