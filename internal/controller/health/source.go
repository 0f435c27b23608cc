package health

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
)

const syncPoll = 20 * time.Millisecond

// Slim keeps out of memory what the loop does not read of a lease.
func Slim(object any) (any, error) {
	lease, ok := object.(*coordinationv1.Lease)
	if !ok {
		return object, nil
	}
	slim := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: lease.Spec.RenewTime}}
	slim.Namespace, slim.Name, slim.UID = lease.Namespace, lease.Name, lease.UID
	slim.ResourceVersion, slim.CreationTimestamp = lease.ResourceVersion, lease.CreationTimestamp
	return slim, nil
}

// source feeds the health cache from the informers, and the work queue from the health cache. It is synced once the cache
// holds every object that existed at the start; from then on silence counts.
type source struct {
	informers cache.Cache
	leases    *LeaseWatch
	clock     clock.PassiveClock
	health    *healthCache
	synced    []toolscache.InformerSynced
}

// Start begins to follow the informers. It does not block.
func (s *source) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.health.wake = func(name string) { queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}) }
	s.leases.notify(func() { s.health.watchStarted(s.clock.Now()) }, func() { s.health.watchEnded(s.clock.Now()) })
	for _, watch := range []struct {
		kind    client.Object
		handler toolscache.ResourceEventHandler
	}{
		{&clusterv1.ManagedCluster{}, handler(s.setCluster, s.removeCluster)},
		{&coordinationv1.Lease{}, handler(s.setLease, s.removeLease)},
		{&clusterv1beta2.ManagedClusterSet{}, handler(s.setSet, s.setSet)},
	} {
		informer, err := s.informers.GetInformer(ctx, watch.kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching %T: %w", watch.kind, err)
		}
		registration, err := informer.AddEventHandler(watch.handler)
		if err != nil {
			return fmt.Errorf("watching %T: %w", watch.kind, err)
		}
		s.synced = append(s.synced, registration.HasSynced)
	}
	return nil
}

func (s *source) setCluster(cluster *clusterv1.ManagedCluster) {
	s.health.setCluster(cluster, s.clock.Now())
}

func (s *source) removeCluster(cluster *clusterv1.ManagedCluster) {
	s.health.removeCluster(cluster.Name)
}

func (s *source) setLease(lease *coordinationv1.Lease) {
	if lease.Name != clusterv1.ManagedClusterLeaseName {
		return
	}
	s.health.setLease(lease.Namespace, renewTime(lease), s.clock.Now())
}

// renewTime returns the time in a lease; that of its creation where it was never renewed.
func renewTime(lease *coordinationv1.Lease) time.Time {
	if lease.Spec.RenewTime != nil {
		return lease.Spec.RenewTime.Time
	}
	return lease.CreationTimestamp.Time
}

func (s *source) removeLease(lease *coordinationv1.Lease) {
	if lease.Name == clusterv1.ManagedClusterLeaseName {
		s.health.removeLease(lease.Namespace)
	}
}

// setSet lets the disruption be reported, whatever becomes of the set that reports it.
func (s *source) setSet(set *clusterv1beta2.ManagedClusterSet) {
	if set.Name == clusterv1beta2.GlobalClusterSetName {
		s.health.restoreDisruption(set)
		s.health.wake(fleetRequest)
	}
}

// WaitForSync blocks until the cache is complete.
func (s *source) WaitForSync(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, syncPoll, true, func(context.Context) (bool, error) {
		for _, synced := range s.synced {
			if !synced() {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the clusters to be read: %w", err)
	}
	s.health.start(s.clock.Now())
	return nil
}

// handler turns the untyped events of an informer into calls.
func handler[T any](set, remove func(*T)) toolscache.ResourceEventHandler {
	typed := func(object any) *T {
		if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		out, ok := object.(*T)
		if !ok {
			panic(fmt.Sprintf("health: an informer of %T delivered %T", *new(T), object))
		}
		return out
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { set(typed(object)) },
		UpdateFunc: func(_, object any) { set(typed(object)) },
		DeleteFunc: func(object any) { remove(typed(object)) },
	}
}
