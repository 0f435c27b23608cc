package live

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

// Watch lets the world follow the informers of every kind that it reads. The world is Ready once synced returns true.
func (w *State) Watch(ctx context.Context, informers cache.Cache) (synced func() bool, err error) {
	watches := []struct {
		kind    client.Object
		handler toolscache.ResourceEventHandler
	}{
		{&clusterv1.ManagedCluster{}, handler(func(_, c *clusterv1.ManagedCluster) { w.SetCluster(c) }, w.DeleteCluster)},
		{&clusterv1alpha1.AddOnPlacementScore{}, handler(func(_, s *clusterv1alpha1.AddOnPlacementScore) { w.SetScore(s) }, w.DeleteScore)},
		{&clusterv1beta2.ManagedClusterSet{}, handler(w.SetSet, w.DeleteSet)},
		{&clusterv1beta2.ManagedClusterSetBinding{}, handler(func(_, b *clusterv1beta2.ManagedClusterSetBinding) { w.SetBinding(b) }, w.DeleteBinding)},
		{&clusterv1beta1.Placement{}, handler(func(_, p *clusterv1beta1.Placement) { w.SetPlacement(p) }, w.DeletePlacement)},
		{&clusterv1beta1.PlacementDecision{}, handler(func(_, d *clusterv1beta1.PlacementDecision) { w.SetSlice(d) }, w.DeleteSlice)},
	}
	var registered []toolscache.ResourceEventHandlerRegistration
	for _, watch := range watches {
		informer, err := informers.GetInformer(ctx, watch.kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watching %T: %w", watch.kind, err)
		}
		registration, err := informer.AddEventHandler(watch.handler)
		if err != nil {
			return nil, fmt.Errorf("watching %T: %w", watch.kind, err)
		}
		registered = append(registered, registration)
	}
	return func() bool {
		for _, registration := range registered {
			if !registration.HasSynced() {
				return false
			}
		}
		return true
	}, nil
}

// handler turns the untyped events of an informer into calls. set gets what was there before, or nil.
func handler[T any](set func(before, after *T), remove func(*T)) toolscache.ResourceEventHandler {
	typed := func(object any) *T {
		if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		out, ok := object.(*T)
		if !ok {
			panic(fmt.Sprintf("live: an informer of %T delivered %T", *new(T), object))
		}
		return out
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { set(nil, typed(object)) },
		UpdateFunc: func(before, after any) { set(typed(before), typed(after)) },
		DeleteFunc: func(object any) { remove(typed(object)) },
	}
}
