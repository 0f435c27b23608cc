package informer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
)

var (
	errStopped   = errors.New("the informer has stopped")
	errForeign   = errors.New("the handler was added to another informer")
	errUnwatched = errors.New("the informer lets nobody handle errors of its watch")
)

// New makes an informer for a cache, which calls its handlers one after the other where an object is stored. That of
// client-go has two more goroutines and a queue for each handler: to wake them costs more than all that is done about a
// heartbeat. So no handler may block.
//
// A handler that is added while objects come may be told twice how one is, or of the end of one that it never knew.
func New(
	lists toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	s := &shared{transform: func(object any) (any, error) { return object, nil }}
	store, controller := toolscache.NewInformerWithOptions(toolscache.InformerOptions{
		ListerWatcher: listFirst{lists, toolscache.ToListerWatcherWithContext(lists)}, ObjectType: kind, ResyncPeriod: resync, Indexers: indexers, Handler: &s.followers,
		Transform: func(object any) (any, error) { return s.transform(object) },
	})
	s.Controller, s.store = controller, store.(toolscache.Indexer) //nolint:errcheck // it is one where indexers are given
	return s
}

// listFirst are lists that are read in one answer. A watch that begins with all that there is, as client-go prefers, spares the
// API server the memory for that answer; but each object is an event then, and decoding takes more than twice as long. A manager
// reads everything once.
type listFirst struct {
	toolscache.ListerWatcher
	toolscache.ListerWatcherWithContext
}

// IsWatchListSemanticsUnSupported tells client-go to list before it watches.
func (listFirst) IsWatchListSemanticsUnSupported() bool { return true }

// shared is an informer with any number of handlers.
type shared struct {
	toolscache.Controller
	store toolscache.Indexer
	// transform is set before the informer runs.
	transform toolscache.TransformFunc
	followers followers
	stopped   atomic.Bool
}

// RunWithContext implements toolscache.SharedInformer.
func (s *shared) RunWithContext(ctx context.Context) {
	defer s.stopped.Store(true)
	s.Controller.RunWithContext(ctx)
}

// Run implements toolscache.SharedInformer.
func (s *shared) Run(stop <-chan struct{}) {
	defer s.stopped.Store(true)
	s.Controller.Run(stop)
}

// IsStopped implements toolscache.SharedInformer.
func (s *shared) IsStopped() bool { return s.stopped.Load() }

// AddEventHandler implements toolscache.SharedInformer.
func (s *shared) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	if s.IsStopped() {
		return nil, errStopped
	}
	added := &follower{handler, s.Controller}
	s.followers.add(added, s.store.List)
	return added, nil
}

// AddEventHandlerWithResyncPeriod implements toolscache.SharedInformer. All handlers have the period of the informer.
func (s *shared) AddEventHandlerWithResyncPeriod(
	handler toolscache.ResourceEventHandler, _ time.Duration,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

// AddEventHandlerWithOptions implements toolscache.SharedInformer. The informer has nothing to log about a handler.
func (s *shared) AddEventHandlerWithOptions(
	handler toolscache.ResourceEventHandler, _ toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

// RemoveEventHandler implements toolscache.SharedInformer.
func (s *shared) RemoveEventHandler(registration toolscache.ResourceEventHandlerRegistration) error {
	gone, ok := registration.(*follower)
	if !ok {
		return errForeign
	}
	s.followers.remove(gone)
	return nil
}

// GetStore implements toolscache.SharedInformer.
func (s *shared) GetStore() toolscache.Store { return s.store }

// GetIndexer implements toolscache.SharedIndexInformer.
func (s *shared) GetIndexer() toolscache.Indexer { return s.store }

// AddIndexers implements toolscache.SharedIndexInformer.
func (s *shared) AddIndexers(indexers toolscache.Indexers) error {
	return s.store.AddIndexers(indexers)
}

// GetController implements toolscache.SharedInformer.
func (s *shared) GetController() toolscache.Controller { return s.Controller }

// SetTransform implements toolscache.SharedInformer.
func (s *shared) SetTransform(transform toolscache.TransformFunc) error {
	if transform != nil {
		s.transform = transform
	}
	return nil
}

// SetWatchErrorHandler implements toolscache.SharedInformer.
func (*shared) SetWatchErrorHandler(toolscache.WatchErrorHandler) error { return errUnwatched }

// SetWatchErrorHandlerWithContext implements toolscache.SharedInformer.
func (*shared) SetWatchErrorHandlerWithContext(toolscache.WatchErrorHandlerWithContext) error {
	return errUnwatched
}

// follower is a handler that was added. It has heard of all that was there once the informer has.
type follower struct {
	toolscache.ResourceEventHandler
	informer toolscache.Controller
}

// HasSynced implements toolscache.ResourceEventHandlerRegistration.
func (f *follower) HasSynced() bool { return f.informer.HasSynced() }

// HasSyncedChecker implements toolscache.ResourceEventHandlerRegistration.
func (f *follower) HasSyncedChecker() toolscache.DoneChecker { return f.informer.HasSyncedChecker() }

// followers are told of one event at a time.
type followers struct {
	mu  sync.Mutex
	all []*follower
}

// add tells a new follower what there is already.
func (f *followers) add(added *follower, known func() []any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, object := range known() {
		added.OnAdd(object, true)
	}
	f.all = append(f.all, added)
}

func (f *followers) remove(gone *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = slices.DeleteFunc(f.all, func(one *follower) bool { return one == gone })
}

// OnAdd implements toolscache.ResourceEventHandler.
func (f *followers) OnAdd(object any, initial bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		one.OnAdd(object, initial)
	}
}

// OnUpdate implements toolscache.ResourceEventHandler.
func (f *followers) OnUpdate(before, after any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		one.OnUpdate(before, after)
	}
}

// OnDelete implements toolscache.ResourceEventHandler.
func (f *followers) OnDelete(object any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		one.OnDelete(object)
	}
}
