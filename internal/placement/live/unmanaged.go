package live

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// Unmanaged holds slices that Berth wrote and does not decide now: their placement is disabled, being deleted or gone.
type Unmanaged struct {
	Snapshot *fleet.Snapshot
	Stored   plan.Stored
}

// Unmanaged returns the slices of a placement that Berth does not decide. Ok is false if Berth decides the placement or
// wrote none of its slices.
func (w *State) Unmanaged(key fleet.Key, now time.Time) (u Unmanaged, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.unmanaged[key]; !ok || !w.ready {
		return Unmanaged{}, false
	}
	w.publish()
	u = Unmanaged{w.snapshot.At(now), plan.Stored{Slices: w.currentSlices(key), FormerUID: w.former[key]}}
	if p, known := w.placements[key]; known {
		u.Stored.Placement = p.current()
	}
	return u, true
}

// updateUnmanaged records the clusters in the slices of a placement that Berth wrote and does not decide.
func (w *State) updateUnmanaged(key fleet.Key) {
	delete(w.unmanaged, key)
	if p, known := w.placements[key]; known && p.managed() {
		return
	}
	for _, object := range w.currentSlices(key) {
		if !plan.WrittenByBerth(object) {
			continue
		}
		if w.unmanaged[key] == nil {
			w.unmanaged[key] = map[string]struct{}{}
		}
		for _, name := range plan.Clusters(object) {
			w.unmanaged[key][name] = struct{}{}
		}
	}
}

// unmanagedWith returns the unmanaged placements whose slices name a cluster, sorted.
func (w *State) unmanagedWith(cluster string) []fleet.Key {
	return w.unmanagedWhere(func(_ fleet.Key, clusters map[string]struct{}) bool {
		_, found := clusters[cluster]
		return found
	})
}

// unmanagedIn returns the unmanaged placements of namespaces, sorted.
func (w *State) unmanagedIn(namespaces []string) []fleet.Key {
	return w.unmanagedWhere(func(key fleet.Key, _ map[string]struct{}) bool { return slices.Contains(namespaces, key.Namespace) })
}

func (w *State) unmanagedWhere(holds func(fleet.Key, map[string]struct{}) bool) []fleet.Key {
	var out []fleet.Key
	for key, clusters := range w.unmanaged {
		if holds(key, clusters) {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}

// enqueueUnmanaged enqueues unmanaged placements, once the state is ready.
func (w *State) enqueueUnmanaged(keys []fleet.Key, why func() explain.Cause) {
	w.enqueueAll(w.enqueue, func() []fleet.Key { return keys }, why)
}

// recordFormer records the UID of a deleted placement that still controls slices.
func (w *State) recordFormer(key fleet.Key, uid types.UID) {
	for name := range w.slicesOf[key] {
		for _, object := range []*clusterv1beta1.PlacementDecision{w.slices[name].cached, w.slices[name].own.Get()} {
			if object == nil {
				continue
			}
			if controller := metav1.GetControllerOf(object); controller != nil && controller.UID == uid {
				w.former[key] = uid
				return
			}
		}
	}
}

// updateFormer removes a deleted placement whose slices are gone.
func (w *State) updateFormer(key fleet.Key) {
	uid, known := w.former[key]
	if !known {
		return
	}
	delete(w.former, key)
	w.recordFormer(key, uid)
}
