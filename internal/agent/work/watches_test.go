package work

import (
	"context"
	"testing"

	"github.com/berth-project/berth/internal/agent/work/object"
)

// TestWatchesOfSingleObjectsEnd: the watch of one object ends with its last work, and that of its resource goes on.
func TestWatchesOfSingleObjectsEnd(t *testing.T) {
	one := object.ID{Resource: "configmaps", Namespace: "n", Name: "one"}
	other := object.ID{Resource: "configmaps", Namespace: "n", Name: "other"}
	w := newWatches(t.Context(), nil, nil)
	contexts := map[object.ID]context.Context{}
	for _, id := range []object.ID{one, other, labelled(one)} {
		ctx, stop := context.WithCancel(t.Context())
		t.Cleanup(stop)
		contexts[id], w.started[id] = ctx, &follower{stop: stop}
	}
	w.endNamed([]object.ID{one, labelled(one), {Resource: "secrets", Namespace: "n", Name: "unwatched"}})
	for id, ctx := range contexts {
		if ended := ctx.Err() != nil; ended != (id == one) {
			t.Errorf("the watch of %v has ended: %t", id, ended)
		}
		if running := w.started[id] != nil; running != (id != one) {
			t.Errorf("the watch of %v counts: %t", id, running)
		}
	}
}
