package live

import (
	"context"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/source"
)

// Read returns what a server holds now, with its fleet. It is not updated afterwards.
func Read(ctx context.Context, from client.Reader, env *celenv.Env) (*Stored, error) {
	objects, err := source.List(ctx, from)
	if err != nil {
		return nil, err
	}
	ignore := func(fleet.Key, explain.Cause) {}
	f, s := New(env, clock.RealClock{}, ignore, ignore)
	each(objects.Clusters.Items, f.SetCluster)
	each(objects.Scores.Items, f.SetScore)
	each(objects.Sets.Items, func(set *clusterv1beta2.ManagedClusterSet) { f.SetSet(nil, set) })
	each(objects.Bindings.Items, f.SetBinding)
	each(objects.Placements.Items, s.SetPlacement)
	each(objects.Slices.Items, s.SetSlice)
	s.Ready()
	return s, nil
}

func each[T any](items []T, do func(*T)) {
	for i := range items {
		do(&items[i])
	}
}
