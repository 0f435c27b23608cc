package live

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
)

// Look returns the case of a placement as of now for somebody who only wants to know: nothing is taken up, so there is
// nothing to settle. Unlike Gather it also returns that of a placement which Berth is not to decide. Ok is false where
// there is no such placement.
func (w *World) Look(key fleet.Key, now time.Time) (c Case, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, known := w.placements[key]
	if !known || w.snapshot == nil {
		return Case{}, false
	}
	return w.lay(key, p, now), true
}

// Fleet returns the fleet as of now. Ok is false where the world is not ready.
func (w *World) Fleet(now time.Time) (s *fleet.Snapshot, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.snapshot == nil {
		return nil, false
	}
	return w.snapshot.At(now), true
}

// Wanted says whether Berth is to decide a placement: it is neither being deleted nor left to others by its annotation.
func Wanted(object *clusterv1beta1.Placement) bool { return wanted(object) }

// Read returns a world of what a server answers right now. It is not kept abreast: it is for one answer where nobody
// keeps a world.
func Read(ctx context.Context, from client.Reader, env *celenv.Env) (*World, error) {
	w := New(env, func(fleet.Key, explain.Cause) {})
	var (
		clusters   clusterv1.ManagedClusterList
		scores     clusterv1alpha1.AddOnPlacementScoreList
		sets       clusterv1beta2.ManagedClusterSetList
		bindings   clusterv1beta2.ManagedClusterSetBindingList
		placements clusterv1beta1.PlacementList
		decisions  clusterv1beta1.PlacementDecisionList
	)
	for _, list := range []client.ObjectList{&clusters, &scores, &sets, &bindings, &placements, &decisions} {
		if err := from.List(ctx, list); err != nil {
			return nil, fmt.Errorf("reading the fleet: %w", err)
		}
	}
	each(clusters.Items, w.SetCluster)
	each(scores.Items, w.SetScore)
	each(sets.Items, func(set *clusterv1beta2.ManagedClusterSet) { w.SetSet(nil, set) })
	each(bindings.Items, w.SetBinding)
	each(placements.Items, w.SetPlacement)
	each(decisions.Items, w.SetSlice)
	w.Ready()
	return w, nil
}

func each[T any](items []T, do func(*T)) {
	for i := range items {
		do(&items[i])
	}
}
