// Package informer owns the way from the events of an informer to calls with what they are about. It refuses to know what
// is kept of it.
package informer

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watch calls set with every object of a kind that is there, comes or changes, and remove with the name of each that goes,
// one call at a time. Neither may block, or change the object. All that was there was set once synced returns true.
func Watch[T client.Object](
	ctx context.Context, informers cache.Informers, kind T, set func(T), remove func(name string),
) (synced func() bool, err error) {
	informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching %T: %w", kind, err)
	}
	put := func(object any) {
		if typed, ok := object.(T); ok {
			set(typed)
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    put,
		UpdateFunc: func(_, object any) { put(object) },
		DeleteFunc: func(object any) {
			if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			if typed, ok := object.(T); ok {
				remove(typed.GetName())
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watching %T: %w", kind, err)
	}
	return registration.HasSynced, nil
}
