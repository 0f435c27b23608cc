//go:build slow

package endtoend

import (
	"maps"
	"strings"
	"testing"
)

// TestAHubThatReturnsFromAnOldCopyEvictsOnlyWhatTheBrakeAllows restores a hub from a copy that lacks some of the sets and has an older
// template of another one.
func TestAHubThatReturnsFromAnOldCopyEvictsOnlyWhatTheBrakeAllows(t *testing.T) {
	for name, tc := range map[string]struct {
		copied, lost int
		held         bool
	}{
		"few works are missing, and go after the grace period": {copied: 5, lost: 1},
		"most works are missing, and all stay":                 {copied: 1, lost: 5, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHub(t, shortGrace)
			w := h.deliver(numbered("copied", tc.copied)...)
			h.stopHub()
			backup := h.copyData()
			h.startHub()
			h.startManager()
			all := wanted{sets: maps.Clone(w.sets), clusters: w.clusters}
			for _, set := range numbered("lost", tc.lost) {
				all.sets[set] = newTemplate(set, "1")
				h.createSet(set, all.sets[set])
			}
			all.sets["copied-0"] = newTemplate("copied-0", "2")
			h.changeSet("copied-0", all.sets["copied-0"])
			h.settle(all)
			before := h.uids(all)

			h.stopHub()
			h.restore(backup)
			h.startHub()
			h.startManager()
			h.awaitAgents()
			if tc.held {
				h.requireHeld(w, all, before)
				return
			}
			h.settle(w)
			h.requireSame(before, h.uids(w))
		})
	}
}

// TestAHubThatReturnsFromItsStoppedDataEvictsNothing stops the hub, deletes its data, and starts it from a copy.
func TestAHubThatReturnsFromItsStoppedDataEvictsNothing(t *testing.T) {
	h := newTestHub(t, shortGrace)
	w := h.deliver("first", "second")
	before := h.uids(w)
	h.stopHub()
	h.restore(h.copyData())
	h.startHub()
	h.startManager()
	h.awaitAgents()
	h.settle(w)
	h.requireSame(before, h.uids(w))
	for _, m := range h.members {
		if strings.Contains(m.agent.Log(), lostMessage) {
			t.Errorf("the agent of %s reports a lost work", m.name)
		}
	}
}
