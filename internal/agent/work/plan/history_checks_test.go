package plan

import (
	"fmt"
	"slices"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// forgetReleased hands the objects that their works let stay to their users.
func (m *member) forgetReleased() {
	for id, found := range m.things {
		if found.released && !m.onRecord(id, found) {
			found.by = ""
		}
	}
}

func (m *member) onRecord(id object.ID, found *thing) bool {
	for name, record := range m.records {
		if w := m.works[name]; w != nil && w.denied != nothing {
			continue // it created nothing
		}
		if slices.ContainsFunc(record, func(e Entry) bool { return e.ID == id && (e.UID == "" || e.UID == found.uid) && !e.Adopted }) {
			return true
		}
	}
	return false
}

// listedByOther returns whether the record of another work has an object.
func (m *member) listedByOther(name string, id object.ID, found *thing) bool {
	for other, record := range m.records {
		if other != name && slices.ContainsFunc(record, func(e Entry) bool { return e.ID == id && (e.UID == "" || e.UID == found.uid) }) {
			return true
		}
	}
	return false
}

// checkPromises checks that each object that a work created is on a record, or is handed to a work that wants it.
func (m *member) checkPromises() error {
	for id, found := range m.things {
		if found.by == "" || found.terminating {
			continue
		}
		known := m.onRecord(id, found)
		if w := m.works[found.label]; w != nil && slices.ContainsFunc(w.manifests, writes(id)) {
			known = true
		}
		if !known {
			return fmt.Errorf("%w: %s is on no record", errBoom, id)
		}
	}
	return nil
}

// checkSettled checks that the member has what the works name, as far as they may write.
func (m *member) checkSettled() error {
	wanted, kept, onlyCreated := map[object.ID][]string{}, map[object.ID]bool{}, map[object.ID]bool{}
	for name, w := range m.works {
		if w.leaving {
			return fmt.Errorf("%w: %s is not gone", errBoom, name)
		}
		if w.denied != nothing {
			continue
		}
		named := map[object.ID]bool{}
		for _, x := range w.manifests {
			named[x.ID] = true
			if x.Fault == nil && writes(x.ID)(x) {
				wanted[x.ID] = append(wanted[x.ID], x.Hash)
				onlyCreated[x.ID] = onlyCreated[x.ID] || createOnly(&x)
			}
		}
		for _, entry := range m.records[name] { // an empty work keeps what it has, and a work that only reports an object keeps it too
			if len(w.manifests) == 0 || slices.ContainsFunc(w.manifests, mistaken(entry.ID)) ||
				named[entry.ID] && !slices.ContainsFunc(w.manifests, writes(entry.ID)) {
				kept[entry.ID] = true
			}
		}
	}
	for _, id := range ids() {
		found, hashes := m.things[id], wanted[id]
		switch {
		case len(hashes) > 0 && (found == nil || !kept[id] && !onlyCreated[id] && !slices.Contains(hashes, found.hash)):
			return fmt.Errorf("%w: %s is %+v, want one of %v", errBoom, id, found, hashes)
		case len(hashes) == 0 && !kept[id] && found != nil && (found.by != "" || found.label != "" || len(found.owners) > 0):
			return fmt.Errorf("%w: %s is left: %+v", errBoom, id, found)
		}
	}
	return nil
}
