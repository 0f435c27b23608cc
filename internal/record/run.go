package record

import (
	"container/list"
	"sync"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
)

const (
	// maxCells bounds the runs that are remembered, by what their traces hold of their own: one for each cluster of the
	// fleet, and for each candidate one more than it has scores.
	maxCells = 1 << 20
	// maxAge bounds what their snapshots hold together, which is every cluster, score and decision as it was then: a run
	// is dropped that so many changes of the world came after. What is the same in several snapshots is held once, so all
	// of them hold one fleet, and no more states beside it than that.
	maxAge = 1 << 15
)

// Run is a run, and the placement that it decided. Both are read-only.
type Run struct {
	Placement *clusterv1beta1.Placement
	Result    *engine.Result
	// changes is how many changes the world had seen by then.
	changes uint64
}

// runCache holds the last run of each placement, those that were used last and are of about now.
type runCache struct {
	mu    sync.Mutex
	limit int
	cells int
	// maxAge is how many changes a run may be behind the latest one; latest is that of the latest, and swept what that was
	// when those too far behind were last dropped.
	maxAge, latest, sweptAt uint64

	entries map[fleet.Key]*list.Element
	// order has a *run for each, the one used last in front.
	order *list.List
}

// cachedRun is what is held of a placement: its last run, and the one that was stored last, which is mostly the same.
type cachedRun struct {
	key    fleet.Key
	last   Run
	stored Run
	cells  int
}

func newRunCache(limit int, behind uint64) *runCache {
	return &runCache{limit: limit, maxAge: behind, entries: map[fleet.Key]*list.Element{}, order: list.New()}
}

// put remembers the last run of a placement, and the one that was stored last, where there is one. Others make room for
// it; one that is too large for all the room is not remembered.
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

// sweep drops the runs that are too far behind. It looks at all of them, so it does so only once in half as many changes,
// and drops what is half as far behind already.
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

// oldest returns how many changes the world had seen by the older one of the runs that are held.
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

func (r *runCache) forget(key fleet.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.entries[key])
}

// last returns the last run of a placement, which is thereby used.
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

// stored returns the run of a placement that was stored last, without a result where it is not remembered.
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

// cellCount returns how much a result holds.
func cellCount(result *engine.Result) int {
	out := int(result.Trace.Snapshot.IDLimit()) + 1
	if ranking := result.Trace.Ranking; ranking != nil {
		out += len(ranking.Candidates) * (1 + len(ranking.Columns))
	}
	return out
}
