package work

import (
	"testing"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// TestWatchesOfSingleObjectsEnd: the watch of one object ends with its last work, and that of its resource goes on.
func TestWatchesOfSingleObjectsEnd(t *testing.T) {
	one := object.ID{Resource: "configmaps", Namespace: "n", Name: "one"}
	other := object.ID{Resource: "configmaps", Namespace: "n", Name: "other"}
	w := newWatches(t.Context(), nil, nil)
	ended := map[object.ID]bool{}
	for _, id := range []object.ID{one, other, labelled(one)} {
		w.started[id] = &follower{stop: func() { ended[id] = true }}
	}
	w.endNamed([]object.ID{one, labelled(one), {Resource: "secrets", Namespace: "n", Name: "unwatched"}})
	for _, id := range []object.ID{one, other, labelled(one)} {
		if ended[id] != (id == one) {
			t.Errorf("the watch of %v has ended: %t", id, ended[id])
		}
		if running := w.started[id] != nil; running != (id != one) {
			t.Errorf("the watch of %v counts: %t", id, running)
		}
	}
}
