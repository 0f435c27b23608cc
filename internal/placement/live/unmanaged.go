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
func (s *State) Unmanaged(key fleet.Key, now time.Time) (u Unmanaged, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.unmanaged[key]; !ok || !s.ready {
		return Unmanaged{}, false
	}
	s.publish()
	u = Unmanaged{s.snapshot.At(now), plan.Stored{Slices: s.currentSlices(key), FormerUID: s.former[key]}}
	if p, known := s.placements[key]; known {
		u.Stored.Placement = p.current()
	}
	return u, true
}

// updateUnmanaged records the clusters in the slices of a placement that Berth wrote and does not decide.
func (s *State) updateUnmanaged(key fleet.Key) {
	delete(s.unmanaged, key)
	if p, known := s.placements[key]; known && p.managed() {
		return
	}
	for _, object := range s.currentSlices(key) {
		if !plan.WrittenByBerth(object) {
			continue
		}
		if s.unmanaged[key] == nil {
			s.unmanaged[key] = map[string]struct{}{}
		}
		for _, name := range plan.Clusters(object) {
			s.unmanaged[key][name] = struct{}{}
		}
	}
}

// unmanagedWith returns the unmanaged placements whose slices name a cluster, sorted.
func (s *State) unmanagedWith(cluster string) []fleet.Key {
	return s.unmanagedWhere(func(_ fleet.Key, clusters map[string]struct{}) bool {
		_, found := clusters[cluster]
		return found
	})
}

// unmanagedIn returns the unmanaged placements of namespaces, sorted.
func (s *State) unmanagedIn(namespaces []string) []fleet.Key {
	return s.unmanagedWhere(func(key fleet.Key, _ map[string]struct{}) bool { return slices.Contains(namespaces, key.Namespace) })
}

func (s *State) unmanagedWhere(holds func(fleet.Key, map[string]struct{}) bool) []fleet.Key {
	var out []fleet.Key
	for key, clusters := range s.unmanaged {
		if holds(key, clusters) {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return out
}

// enqueueUnmanaged enqueues unmanaged placements, once the state is ready.
func (s *State) enqueueUnmanaged(keys []fleet.Key, why func() explain.Cause) {
	s.enqueueAll(s.enqueue, func() []fleet.Key { return keys }, why)
}

// recordFormer records the UID of a deleted placement that still controls slices.
func (s *State) recordFormer(key fleet.Key, uid types.UID) {
	for name := range s.slicesOf[key] {
		for _, object := range []*clusterv1beta1.PlacementDecision{s.slices[name].cached, s.slices[name].own.Get()} {
			if object == nil {
				continue
			}
			if controller := metav1.GetControllerOf(object); controller != nil && controller.UID == uid {
				s.former[key] = uid
				return
			}
		}
	}
}

// updateFormer removes a deleted placement whose slices are gone.
func (s *State) updateFormer(key fleet.Key) {
	uid, known := s.former[key]
	if !known {
		return
	}
	delete(s.former, key)
	s.recordFormer(key, uid)
}
