package history

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"github.com/berth-project/berth/engine/fleet"
)

const (
	// maxPerPlacement bounds the changes of one placement, maxChanges the changes of all, and maxBytes their estimated size.
	maxPerPlacement = 50
	maxChanges      = 20_000
	maxBytes        = 32 << 20
)

// history holds the last changes of each placement, within bounds over all placements.
type history struct {
	most, mostBytes int

	mu    sync.Mutex
	bytes int
	// order holds every *kept, the oldest first.
	order *list.List
	past  map[fleet.Key]*placementHistory
}

// placementHistory holds the changes of one placement, the oldest first, and how many were dropped.
type placementHistory struct {
	changes []*list.Element
	dropped int
}

type historyEntry struct {
	key    fleet.Key
	change *Change
	bytes  int
}

func newHistory(most, mostBytes int) *history {
	return &history{most: most, mostBytes: mostBytes, order: list.New(), past: map[fleet.Key]*placementHistory{}}
}

// add adds a change. It drops the oldest changes, of this placement or of any, to stay within the bounds.
func (h *history) add(key fleet.Key, change *Change) {
	next := &historyEntry{key: key, change: change, bytes: change.size()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if p, ok := h.past[key]; ok && len(p.changes) == maxPerPlacement {
		h.drop(p.changes[0])
	}
	for h.order.Len() > 0 && (h.order.Len() >= h.most || h.bytes+next.bytes > h.mostBytes) {
		h.drop(h.order.Front())
	}
	p, ok := h.past[key]
	if !ok {
		p = &placementHistory{}
		h.past[key] = p
	}
	p.changes = append(p.changes, h.order.PushBack(next))
	h.bytes += next.bytes
}

// drop drops the oldest change of a placement. With the last one it drops the count of dropped changes too.
func (h *history) drop(oldest *list.Element) {
	gone := entryOf(oldest)
	h.order.Remove(oldest)
	h.bytes -= gone.bytes
	p := h.past[gone.key]
	p.changes = slices.Delete(p.changes, 0, 1)
	p.dropped++
	if len(p.changes) == 0 {
		delete(h.past, gone.key)
	}
}

// changes returns the changes of a placement since an instant, the latest first, and how many were dropped.
func (h *history) changes(key fleet.Key, since time.Time) (changes []*Change, dropped int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p, ok := h.past[key]
	if !ok {
		return nil, 0
	}
	for _, element := range slices.Backward(p.changes) {
		change := entryOf(element).change
		if change.At.Before(since) {
			break
		}
		changes = append(changes, change)
	}
	return changes, p.dropped
}

func entryOf(element *list.Element) *historyEntry {
	out, ok := element.Value.(*historyEntry)
	if !ok {
		panic("record: the list of changes holds something else")
	}
	return out
}
