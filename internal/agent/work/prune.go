package work

import (
	"maps"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// prune removes what is stored about objects that the work neither names nor has on record, so that the memory of a work is bounded by
// the work.
func (p *pass) prune() {
	p.controller.mu.Lock()
	defer p.controller.mu.Unlock()
	known := map[object.ID]bool{}
	for id := range p.state.wants {
		known[id] = true
	}
	for _, m := range p.manifests {
		known[m.ID] = true // its kind may not be known, and then it is not wanted
	}
	for _, entry := range p.state.entries {
		known[entry.ID] = true
	}
	dropUnknown(p.state.applied, known)
	dropUnknown(p.state.failures, known)
	dropUnknown(p.state.attempts, known)
	dropUnknown(p.state.unread, known)
	dropUnknown(p.state.contentions, known)
	dropUnknown(p.state.conflicts, known)
	dropUnknown(p.state.versions, known)
}

func dropUnknown[T any](from map[object.ID]T, known map[object.ID]bool) {
	maps.DeleteFunc(from, func(id object.ID, _ T) bool { return !known[id] })
}
