package wake

import (
	"slices"

	"github.com/berth-project/berth/engine/fleet"
)

// subscription is shared by all placements with the same dependencies: a change touches all of them or none.
type subscription struct {
	// changeSeq is the last change that was checked. It is the first field because it is read first.
	changeSeq uint64
	dependencies

	key        string
	placements []fleet.Key
	positions  []position
}

// slot is the position of a placement in its subscription.
type slot struct {
	*subscription
	index int
}

// addPlacement adds a placement to the subscription with its dependencies.
func (i *Index) addPlacement(read dependencies, key fleet.Key) slot {
	i.buffer = read.appendKey(i.buffer[:0])
	found := i.subscriptions[string(i.buffer)]
	if found == nil {
		found = &subscription{dependencies: read, key: string(i.buffer)}
		i.subscriptions[found.key] = found
		i.subscribe(found)
	}
	found.placements = append(found.placements, key)
	return slot{found, len(found.placements) - 1}
}

// removePlacement removes a placement from its slot and moves the last placement into it.
func (i *Index) removePlacement(s slot) {
	last := len(s.placements) - 1
	if s.index != last {
		filler := s.placements[last]
		s.placements[s.index] = filler
		i.namespaces[filler.Namespace].slots[filler.Name] = s
	}
	s.placements[last] = fleet.Key{}
	if s.placements = s.placements[:last]; last > 0 {
		return
	}
	delete(i.subscriptions, s.key)
	i.unsubscribe(s.subscription)
}

// subscribe adds a subscription to the bucket of everything that it reads.
func (i *Index) subscribe(r *subscription) {
	r.addTo(&r.scope.subscriptions)
	for f := range r.facts() {
		f.refs++
		r.addTo(&f.subscriptions)
	}
	if guards, ok := r.guards(); ok {
		for _, l := range guards {
			r.addTo(&l.guarded)
		}
	} else {
		r.addTo(&i.unguarded)
	}
	if r.traits.has(readsCPU) {
		r.addTo(&i.cpu)
	}
	if r.traits.has(readsMemory) {
		r.addTo(&i.memory)
	}
	if r.traits.has(countsRemovals) {
		r.addTo(&i.countsRemovals)
	}
	for facet := range r.facets.All() {
		r.addTo(i.facets.getOrCreate(facet))
	}
	for _, score := range r.scores {
		r.addTo(i.scores.getOrCreate(score))
	}
	r.positions = slices.Clone(r.positions) // there are many subscriptions: none keeps spare capacity
}

// unsubscribe removes a subscription, and what no other subscription reads.
func (i *Index) unsubscribe(r *subscription) {
	r.removeFromAll()
	for f := range r.facts() {
		i.facts.release(f)
	}
	for _, score := range r.scores {
		i.scores.deleteIfEmpty(score)
	}
	if s := r.scope; len(s.subscriptions) == 0 {
		i.dropScope(s)
	}
}
