package inventory

import (
	"slices"
	"sync"
	"time"
)

const (
	// budgetWindow is the time in which the clusters of one inventory may be deleted up to the budget.
	budgetWindow = 10 * time.Minute
	// budgetShare is the share of an inventory that may be deleted in a window: one in twenty, and always one cluster.
	budgetShare = 20
	// heldShare is the share of an inventory that may lack profiles, or a reported health: one in four. Beyond it the inventory itself has
	// failed: nothing is deleted, and the last reported health stays.
	heldShare = 4
)

// budget bounds the deletions of clusters, by the label of their inventory. It counts in memory: a restart deletes at most as much again.
type budget struct {
	mu     sync.Mutex
	recent map[string][]time.Time
}

func newBudget() *budget { return &budget{recent: map[string][]time.Time{}} }

// permits reports whether a cluster may be deleted now. Total is how many clusters the inventory has, and missing how many of them lack
// their profiles. It takes nothing from the budget.
func (b *budget) permits(inventory string, total, missing int, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free(inventory, total, missing, now)
}

// take reports whether a cluster may be deleted now, and takes it from the budget.
func (b *budget) take(inventory string, total, missing int, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.free(inventory, total, missing, now) {
		return false
	}
	b.recent[inventory] = append(b.recent[inventory], now)
	return true
}

// free requires the lock. It drops the deletions that have left the window.
func (b *budget) free(inventory string, total, missing int, now time.Time) bool {
	kept := slices.DeleteFunc(b.recent[inventory], func(at time.Time) bool { return now.Sub(at) >= budgetWindow })
	if b.recent[inventory] = kept; len(kept) == 0 {
		delete(b.recent, inventory)
	}
	return !tooMany(missing, total) && len(kept) < max(1, (total+len(kept))/budgetShare)
}

// tooMany reports whether a part of an inventory is so large that the inventory itself has failed.
func tooMany(part, total int) bool { return part > max(1, total/heldShare) }
