package cluster

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/agent/broadcast"
	"github.com/berth-project/berth/internal/agent/client"
)

// Watcher follows one ManagedCluster. It is safe for concurrent use.
type Watcher struct {
	broadcast.Broadcast
	clock clock.PassiveClock

	mu    sync.Mutex
	state State
}

// NewWatcher returns a watcher that has read nothing. uid is the UID of the member.
func NewWatcher(c clock.PassiveClock, uid string) *Watcher {
	return &Watcher{clock: c, state: State{UID: uid}}
}

// State returns what was read last.
func (w *Watcher) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// Run follows the ManagedCluster of a name until the context ends.
func (w *Watcher) Run(ctx context.Context, hub *client.Client, name string) {
	source := hub.ListWatch(client.ManagedCluster(""), fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(),
		func() runtime.Object { return &clusterv1.ManagedClusterList{} })
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: w.recording(source),
		ObjectType:    &clusterv1.ManagedCluster{},
		Transform:     dropManagedFields,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { w.observe(object) },
			UpdateFunc: func(_, object any) { w.observe(object) },
			DeleteFunc: func(any) { w.observe(nil) },
		},
	})
	informer.RunWithContext(ctx)
}

// recording returns a source that records failures, and a list without the ManagedCluster.
func (w *Watcher) recording(source client.Source) client.Source {
	list := source.ListWithContextFunc
	source.ListWithContextFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		found, err := list(ctx, options)
		if err != nil {
			w.change(func(s State) State { return s.fail(err, w.clock.Now()) })
			return nil, err
		}
		if clusters, ok := found.(*clusterv1.ManagedClusterList); ok && len(clusters.Items) == 0 {
			w.observe(nil)
		}
		return found, nil
	}
	return source
}

func (w *Watcher) observe(object any) {
	cluster, _ := object.(*clusterv1.ManagedCluster)
	w.change(func(s State) State { return s.observe(cluster, w.clock.Now()) })
}

func (w *Watcher) change(next func(State) State) {
	w.mu.Lock()
	w.state = next(w.state)
	w.mu.Unlock()
	w.Send()
}

// dropManagedFields keeps the largest part of the metadata out of memory.
func dropManagedFields(object any) (any, error) {
	if cluster, ok := object.(*clusterv1.ManagedCluster); ok {
		cluster.ManagedFields = nil
	}
	return object, nil
}
