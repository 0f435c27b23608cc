package program

import (
	"slices"

	"github.com/berth-project/berth/engine/fleet"
)

// subscription is all placements that read the same: a change touches all of them or none.
type subscription struct {
	// changeSeq is the last change that was looked at. It stands beside what is asked first.
	changeSeq uint64
	dependencies

	key        string
	placements []fleet.Key
	positions  []position
}

// slot is where a placement is among those that read the same.
type slot struct {
	*subscription
	index int
}

// addPlacement puts a placement among those that read the same.
func (x *Index) addPlacement(read dependencies, key fleet.Key) slot {
	x.buffer = read.appendKey(x.buffer[:0])
	found := x.subscriptions[string(x.buffer)]
	if found == nil {
		found = &subscription{dependencies: read, key: string(x.buffer)}
		x.subscriptions[found.key] = found
		x.subscribe(found)
	}
	found.placements = append(found.placements, key)
	return slot{found, len(found.placements) - 1}
}

// removePlacement takes a placement from its seat, which the last one gets.
func (x *Index) removePlacement(s slot) {
	last := len(s.placements) - 1
	if s.index != last {
		filler := s.placements[last]
		s.placements[s.index] = filler
		x.namespaces[filler.Namespace].slots[filler.Name] = s
	}
	s.placements[last] = fleet.Key{}
	if s.placements = s.placements[:last]; last > 0 {
		return
	}
	delete(x.subscriptions, s.key)
	x.unsubscribe(s.subscription)
}

// subscribe puts a reader on the shelf of everything it reads.
func (x *Index) subscribe(r *subscription) {
	r.addTo(&r.scope.subscriptions)
	for f := range r.facts() {
		f.refs++
		r.addTo(&f.subscriptions)
	}
	if gates, ok := r.guards(); ok {
		for _, l := range gates {
			r.addTo(&l.guarded)
		}
	} else {
		r.addTo(&x.unguarded)
	}
	if r.traits.has(readsCPU) {
		r.addTo(&x.cpu)
	}
	if r.traits.has(readsMemory) {
		r.addTo(&x.memory)
	}
	if r.traits.has(countsRemovals) {
		r.addTo(&x.countsRemovals)
	}
	for facet := range r.facets.All() {
		r.addTo(x.facets.getOrCreate(facet))
	}
	for _, score := range r.scores {
		r.addTo(x.scores.getOrCreate(score))
	}
	r.positions = slices.Clone(r.positions) // there are many readers: they hold no more than they need
}

// unsubscribe forgets a reader, and what nobody else reads.
func (x *Index) unsubscribe(r *subscription) {
	r.removeFromAll()
	for f := range r.facts() {
		x.facts.release(f)
	}
	for _, score := range r.scores {
		x.scores.deleteIfEmpty(score)
	}
	if s := r.scope; len(s.subscriptions) == 0 {
		x.dropScope(s)
	}
}
