package record

import (
	"container/list"
	"sync"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
)

// maxCells bounds the runs that are remembered, by what their traces hold: one for each cluster of the fleet, and for each
// candidate one more than it has scores.
const maxCells = 1 << 20

// Run is a run, and the placement that it decided. Both are read-only.
type Run struct {
	Placement *clusterv1beta1.Placement
	Result    *engine.Result
}

// runs holds the last run of each placement, those that were used last.
type runs struct {
	mu    sync.Mutex
	limit int
	cells int
	held  map[fleet.Key]*list.Element
	// order has a *run for each, the one used last in front.
	order *list.List
}

// run is what is held of a placement: its last run, and the result that was stored last, which is mostly the same one.
type run struct {
	key    fleet.Key
	last   Run
	stored *engine.Result
	cells  int
}

func newRuns(limit int) *runs {
	return &runs{limit: limit, held: map[fleet.Key]*list.Element{}, order: list.New()}
}

// put remembers the last run of a placement. Others make room for it; one that is too large for all the room
// is not remembered.
func (r *runs) put(key fleet.Key, last Run, stored *engine.Result) {
	kept := &run{key: key, last: last, stored: stored, cells: cells(last.Result)}
	if stored != nil && stored != last.Result {
		kept.cells += cells(stored)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.held[key])
	if kept.cells > r.limit {
		return
	}
	for r.cells+kept.cells > r.limit {
		r.drop(r.order.Back())
	}
	r.held[key] = r.order.PushFront(kept)
	r.cells += kept.cells
}

func (r *runs) drop(element *list.Element) {
	if element == nil {
		return
	}
	dropped, ok := r.order.Remove(element).(*run)
	if !ok {
		panic("record: the list of runs holds something else")
	}
	delete(r.held, dropped.key)
	r.cells -= dropped.cells
}

func (r *runs) forget(key fleet.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.held[key])
}

// last returns the last run of a placement, which is thereby used.
func (r *runs) last(key fleet.Key) (found Run, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	element, ok := r.held[key]
	if !ok {
		return Run{}, false
	}
	r.order.MoveToFront(element)
	return at(element).last, true
}

// stored returns the result of a placement that was stored last; nil where it is not remembered.
func (r *runs) stored(key fleet.Key) *engine.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	if element, ok := r.held[key]; ok {
		return at(element).stored
	}
	return nil
}

func at(element *list.Element) *run {
	out, ok := element.Value.(*run)
	if !ok {
		panic("record: the list of runs holds something else")
	}
	return out
}

// cells returns how much a result holds.
func cells(result *engine.Result) int {
	out := int(result.Trace.Snapshot.Size()) + 1
	if ranking := result.Trace.Ranking; ranking != nil {
		out += len(ranking.Candidates) * (1 + len(ranking.Columns))
	}
	return out
}
