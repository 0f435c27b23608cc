package history

import (
	"container/list"
	"sync"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
)

const (
	// maxCells bounds the size of all traces, in cells: one for each cluster of the fleet, and for each candidate one more
	// than it has scores.
	maxCells = 1 << 20
	// maxAge bounds the size of all snapshots: a run is dropped after so many later changes. Snapshots share
	// equal parts, so together they hold one fleet and at most so many older states.
	maxAge = 1 << 15
)

// Run is the result of a decision and the placement that it decided. It is read-only.
type Run struct {
	Placement *clusterv1beta1.Placement
	Result    *engine.Result
	// changes is how many changes there were before the run.
	changes uint64
}

// runCache is an LRU cache of the last run of each placement. It also drops runs that are too old.
type runCache struct {
	mu    sync.Mutex
	limit int
	cells int
	// maxAge is how many changes a run may be behind the latest run. latest is the change count of the latest run, and swept the
	// value of latest at the last sweep.
	maxAge, latest, sweptAt uint64

	entries map[fleet.Key]*list.Element
	// order holds every *run, the most recently used first.
	order *list.List
}

// cachedRun is the entry of a placement: its last run, and the run whose plan was stored last. Mostly they are the same.
type cachedRun struct {
	key    fleet.Key
	last   Run
	stored Run
	cells  int
}

func newRunCache(limit int, behind uint64) *runCache {
	return &runCache{limit: limit, maxAge: behind, entries: map[fleet.Key]*list.Element{}, order: list.New()}
}

// put sets the last run of a placement, and its last stored run, if any. It drops the least recently used entries to stay
// within the limit. A run above the limit is not kept.
func (r *runCache) put(key fleet.Key, last, stored Run) {
	kept := &cachedRun{key: key, last: last, stored: stored, cells: cellCount(last.Result)}
	if stored.Result != nil && stored.Result != last.Result {
		kept.cells += cellCount(stored.Result)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.entries[key])
	if kept.cells > r.limit {
		return
	}
	for r.cells+kept.cells > r.limit {
		r.drop(r.order.Back())
	}
	r.entries[key] = r.order.PushFront(kept)
	r.cells += kept.cells
	r.sweep(last.changes)
}

// sweep drops old runs. It reads every entry, so it runs only after behind/2 changes, and drops the runs that are behind/2
// changes old by then.
func (r *runCache) sweep(changes uint64) {
	r.latest = max(r.latest, changes)
	if r.latest-r.sweptAt < r.maxAge/2 {
		return
	}
	r.sweptAt = r.latest
	for _, element := range r.entries {
		if r.latest-cachedRunOf(element).oldest() >= r.maxAge/2 {
			r.drop(element)
		}
	}
}

// oldest returns the change count of the older run of the entry.
func (r *cachedRun) oldest() uint64 {
	if r.stored.Result != nil {
		return min(r.last.changes, r.stored.changes)
	}
	return r.last.changes
}

func (r *runCache) drop(element *list.Element) {
	if element == nil {
		return
	}
	dropped, ok := r.order.Remove(element).(*cachedRun)
	if !ok {
		panic("record: the list of runs holds something else")
	}
	delete(r.entries, dropped.key)
	r.cells -= dropped.cells
}

func (r *runCache) remove(key fleet.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.entries[key])
}

// last returns the last run of a placement and marks it as used.
func (r *runCache) last(key fleet.Key) (found Run, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	element, ok := r.entries[key]
	if !ok {
		return Run{}, false
	}
	r.order.MoveToFront(element)
	return cachedRunOf(element).last, true
}

// stored returns the last stored run of a placement; its Result is nil if it is not in the cache.
func (r *runCache) stored(key fleet.Key) Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if element, ok := r.entries[key]; ok {
		return cachedRunOf(element).stored
	}
	return Run{}
}

func cachedRunOf(element *list.Element) *cachedRun {
	out, ok := element.Value.(*cachedRun)
	if !ok {
		panic("record: the list of runs holds something else")
	}
	return out
}

// cellCount returns the size of a trace in cells.
func cellCount(result *engine.Result) int {
	out := int(result.Trace.Snapshot.IDLimit()) + 1
	if ranking := result.Trace.Ranking; ranking != nil {
		out += len(ranking.Candidates) * (1 + len(ranking.Columns))
	}
	return out
}
