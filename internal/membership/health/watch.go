package health

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// LeaseWatch observes whether the watch of the leases is interrupted: no renewal can be observed then, so silence does not count. It is
// safe for concurrent use.
type LeaseWatch struct {
	mu             sync.Mutex
	started, ended func()
}

// NewLeaseWatch returns a LeaseWatch without callbacks.
func NewLeaseWatch() *LeaseWatch {
	return &LeaseWatch{started: func() {}, ended: func() {}}
}

// Lists wraps lists and watches of leases to observe the watches. It passes events unchanged.
func (w *LeaseWatch) Lists(lists toolscache.ListerWatcher) toolscache.ListerWatcher {
	inner := toolscache.ToListerWatcherWithContext(lists)
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return inner.ListWithContext(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			made, err := inner.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err //nolint:wrapcheck // the reflector reads the error
			}
			w.call(func() func() { return w.started })
			return &observedWatch{Interface: made, ended: func() { w.call(func() func() { return w.ended }) }}, nil
		},
	}
}

// notify sets the callbacks for the start and the end of a watch.
func (w *LeaseWatch) notify(started, ended func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started, w.ended = started, ended
}

func (w *LeaseWatch) call(which func() func()) {
	w.mu.Lock()
	call := which()
	w.mu.Unlock()
	call()
}

// observedWatch observes the end of a watch: the reflector stops every watch that has ended.
type observedWatch struct {
	watch.Interface
	once  sync.Once
	ended func()
}

// Stop implements watch.Interface.
func (w *observedWatch) Stop() {
	w.Interface.Stop()
	w.once.Do(w.ended)
}
