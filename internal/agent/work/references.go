package work

import (
	"github.com/berth-project/berth/internal/agent/work/object"
	"github.com/berth-project/berth/internal/agent/work/plan"
)

// references finds the works that want or record an object without a look at every work. Its zero value is empty. It is bounded by the
// works: an object without a work is dropped.
type references struct {
	works   map[object.ID]map[string]bool
	objects map[string]map[object.ID]bool
}

// set replaces the objects of a work, and returns those that no work has any more. A work without objects is dropped.
func (r *references) set(work string, wants map[object.ID]string, entries []plan.Entry) []object.ID {
	if r.works == nil {
		r.works, r.objects = map[object.ID]map[string]bool{}, map[string]map[object.ID]bool{}
	}
	wanted := make(map[object.ID]bool, len(wants))
	for id := range wants {
		wanted[id] = true
	}
	for _, entry := range entries {
		wanted[entry.ID] = true
	}
	var dropped []object.ID
	for id := range r.objects[work] {
		if !wanted[id] && r.remove(id, work) {
			dropped = append(dropped, id)
		}
	}
	for id := range wanted {
		if r.works[id] == nil {
			r.works[id] = map[string]bool{}
		}
		r.works[id][work] = true
	}
	if len(wanted) == 0 {
		delete(r.objects, work)
		return dropped
	}
	r.objects[work] = wanted
	return dropped
}

// remove takes an object from a work, and returns whether no work has it any more.
func (r *references) remove(id object.ID, work string) bool {
	delete(r.works[id], work)
	if len(r.works[id]) > 0 {
		return false
	}
	delete(r.works, id)
	return true
}

// of returns the names of the works of an object. They are read-only.
func (r *references) of(id object.ID) map[string]bool { return r.works[id] }
