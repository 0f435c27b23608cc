package work

import (
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
)

// holders finds the works that want or record an object without a look at every work. Its zero value is empty. It is bounded by the
// works: an object without a work is dropped.
type holders struct {
	works   map[object.ID]map[string]bool
	objects map[string]map[object.ID]bool
}

// set replaces the objects of a work, and returns those that no work has any more. A work without objects is dropped.
func (h *holders) set(work string, wants map[object.ID]string, entries []plan.Entry) []object.ID {
	if h.works == nil {
		h.works, h.objects = map[object.ID]map[string]bool{}, map[string]map[object.ID]bool{}
	}
	held := make(map[object.ID]bool, len(wants))
	for id := range wants {
		held[id] = true
	}
	for _, entry := range entries {
		held[entry.ID] = true
	}
	var dropped []object.ID
	for id := range h.objects[work] {
		if !held[id] && h.remove(id, work) {
			dropped = append(dropped, id)
		}
	}
	for id := range held {
		if h.works[id] == nil {
			h.works[id] = map[string]bool{}
		}
		h.works[id][work] = true
	}
	if len(held) == 0 {
		delete(h.objects, work)
		return dropped
	}
	h.objects[work] = held
	return dropped
}

// remove takes an object from a work, and returns whether no work has it any more.
func (h *holders) remove(id object.ID, work string) bool {
	delete(h.works[id], work)
	if len(h.works[id]) > 0 {
		return false
	}
	delete(h.works, id)
	return true
}

// of returns the names of the works of an object. They are read-only.
func (h *holders) of(id object.ID) map[string]bool { return h.works[id] }
