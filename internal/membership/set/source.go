package set

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/builtin"
	"github.com/berth-project/berth/internal/source/informer"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// source updates the index with clusters and sets, and enqueues the sets whose status a change can affect. It is synced
// once all that exist are indexed: before, a set would look emptier than it is.
type source struct {
	cache  cache.Cache
	index  *index
	queue  queue
	synced toolscache.InformerSynced
}

// Start adds the event handlers for clusters and sets, and enqueues the built-in sets. It does not block.
func (s *source) Start(ctx context.Context, queue queue) error {
	s.queue = queue
	for _, name := range builtin.Names() {
		s.enqueue(name)
	}
	var err error
	s.synced, err = informer.Watch(ctx, s.cache,
		informer.To(&clusterv1.ManagedCluster{}, s.setCluster, s.deleteCluster),
		informer.To(&clusterv1beta2.ManagedClusterSet{}, s.setSet, s.deleteSet),
	)
	return err
}

// WaitForSync blocks until every cluster and every set is indexed.
func (s *source) WaitForSync(ctx context.Context) error {
	if !toolscache.WaitForCacheSync(ctx.Done(), s.synced) {
		return fmt.Errorf("waiting for clusters and sets: %w", context.Cause(ctx))
	}
	s.index.markSynced()
	return nil
}

func (s *source) enqueue(names ...string) {
	for _, name := range names {
		s.queue.Add(request(name))
	}
}

// setCluster enqueues the sets that a cluster joins or leaves. A heartbeat changes no label.
func (s *source) setCluster(before, after *clusterv1.ManagedCluster) {
	if before == nil || !maps.Equal(before.Labels, after.Labels) {
		s.enqueue(s.index.setCluster(after)...)
	}
}

func (s *source) deleteCluster(object *clusterv1.ManagedCluster) {
	s.enqueue(s.index.deleteCluster(object.Name)...)
}

// setSet enqueues the set. If its exclusive label changes, it also enqueues the sets that conflict with it.
func (s *source) setSet(before, after *clusterv1beta2.ManagedClusterSet) {
	if before == nil || before.Generation != after.Generation || selectorHeld(before) != selectorHeld(after) ||
		!equality.Semantic.DeepEqual(before.Status.ClusterSelector, after.Status.ClusterSelector) {
		s.enqueue(s.index.setSet(after)...)
	}
	s.enqueue(after.Name)
}

func (s *source) deleteSet(object *clusterv1beta2.ManagedClusterSet) {
	s.enqueue(s.index.deleteSet(object.Name)...)
	s.enqueue(object.Name)
}
