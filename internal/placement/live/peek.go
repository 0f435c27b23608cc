package live

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/source"
)

// Peek returns the input of a placement as of now without beginning an attempt, so Finish is not needed. Unlike Gather it
// also returns the input of a placement that Berth does not decide. Ok is false if the placement does not exist.
func (s *State) Peek(key fleet.Key, now time.Time) (c Input, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		return Input{}, false
	}
	p, known := s.compile(key)
	if !known {
		return Input{}, false
	}
	return s.inputFor(key, p, now), true
}

// Fleet returns the fleet as of now. Ok is false if the state is not ready.
func (s *State) Fleet(now time.Time) (snapshot *fleet.Snapshot, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		return nil, false
	}
	s.publish()
	return s.snapshot.At(now), true
}

// Managed returns whether Berth decides a placement: it is neither being deleted nor disabled by its annotation.
func Managed(object *clusterv1beta1.Placement) bool { return managed(object) }

// Read returns a state of what a server holds now. It is not updated afterwards.
func Read(ctx context.Context, from client.Reader, env *celenv.Env) (*State, error) {
	objects, err := source.List(ctx, from)
	if err != nil {
		return nil, err
	}
	ignore := func(fleet.Key, explain.Cause) {}
	w := New(env, clock.RealClock{}, ignore, ignore)
	each(objects.Clusters.Items, w.SetCluster)
	each(objects.Scores.Items, w.SetScore)
	each(objects.Sets.Items, func(set *clusterv1beta2.ManagedClusterSet) { w.SetSet(nil, set) })
	each(objects.Bindings.Items, w.SetBinding)
	each(objects.Placements.Items, w.SetPlacement)
	each(objects.Slices.Items, w.SetSlice)
	w.Ready()
	return w, nil
}

func each[T any](items []T, do func(*T)) {
	for i := range items {
		do(&items[i])
	}
}
