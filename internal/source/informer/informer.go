// Package informer owns how the manager reads objects through informers: it lists before it watches, and it turns untyped
// events into typed calls. It stores nothing itself.
package informer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// New returns an informer for a cache. It is that of client-go, except that it lists before it watches.
func New(
	lists toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(listFirst{lists, toolscache.ToListerWatcherWithContext(lists)}, kind, resync, indexers)
}

// listFirst makes client-go read all objects in one list. By default client-go starts with a watch that sends each object as an
// event. That saves memory in the API server, but decoding takes more than twice as long.
type listFirst struct {
	toolscache.ListerWatcher
	toolscache.ListerWatcherWithContext
}

// IsWatchListSemanticsUnSupported makes client-go list before it watches.
func (listFirst) IsWatchListSemanticsUnSupported() bool { return true }

// Subscription is a kind of objects and what handles their events.
type Subscription struct {
	Kind    client.Object
	Handler toolscache.ResourceEventHandler
}

// To subscribes to a kind. set is called with every object that exists, is created or changes, and remove with every object
// that is deleted, one call at a time. before is the zero value for an object that is new to the informer. Neither function may
// change an object.
func To[T client.Object](kind T, set func(before, after T), remove func(T)) Subscription {
	var none T
	return Subscription{kind, toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { set(none, typed[T](object)) },
		UpdateFunc: func(before, after any) { set(typed[T](before), typed[T](after)) },
		DeleteFunc: func(object any) { remove(typed[T](object)) },
	}}
}

// Watch starts subscriptions. Once synced returns true, every object that existed at the start was handled.
func Watch(ctx context.Context, informers cache.Informers, subscriptions ...Subscription) (synced func() bool, err error) {
	var registrations []toolscache.ResourceEventHandlerRegistration
	for _, subscription := range subscriptions {
		informer, err := informers.GetInformer(ctx, subscription.Kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watching %T: %w", subscription.Kind, err)
		}
		registration, err := informer.AddEventHandler(subscription.Handler)
		if err != nil {
			return nil, fmt.Errorf("watching %T: %w", subscription.Kind, err)
		}
		registrations = append(registrations, registration)
	}
	return func() bool {
		return !slices.ContainsFunc(registrations, func(r toolscache.ResourceEventHandlerRegistration) bool { return !r.HasSynced() })
	}, nil
}

// typed returns the object of an event. It panics where an informer delivers an object of another kind.
func typed[T client.Object](object any) T {
	if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	out, ok := object.(T)
	if !ok {
		panic(fmt.Sprintf("informer: an informer of %T delivered %T", out, object))
	}
	return out
}
