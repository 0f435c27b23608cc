package health

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/source/informer"
)

const syncPoll = 20 * time.Millisecond

// Slim removes the fields of a lease that the controller does not read, to save memory.
func Slim(object any) (any, error) {
	lease, ok := object.(*coordinationv1.Lease)
	if !ok {
		return object, nil
	}
	slim := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: lease.Spec.RenewTime, AcquireTime: lease.Spec.AcquireTime}}
	slim.Namespace, slim.Name, slim.UID = lease.Namespace, lease.Name, lease.UID
	slim.ResourceVersion, slim.CreationTimestamp = lease.ResourceVersion, lease.CreationTimestamp
	return slim, nil
}

// source fills the health cache from the informers, and the work queue from the health cache. It is synced once the cache
// holds every object that existed at the start. Silence counts from then on.
type source struct {
	informers cache.Cache
	leases    *LeaseWatch
	clock     clock.PassiveClock
	health    *healthCache
	synced    func() bool
}

// Start adds the event handlers to the informers. It does not block.
func (s *source) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.health.enqueue = func(name string) { queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}) }
	s.leases.notify(func() { s.health.watchStarted(s.clock.Now()) }, func() { s.health.watchEnded(s.clock.Now()) })
	var err error
	s.synced, err = informer.Watch(ctx, s.informers,
		informer.To(&clusterv1.ManagedCluster{}, func(_, c *clusterv1.ManagedCluster) { s.setCluster(c) }, s.removeCluster),
		informer.To(&coordinationv1.Lease{}, func(_, l *coordinationv1.Lease) { s.setLease(l) }, s.removeLease),
		informer.To(&clusterv1beta2.ManagedClusterSet{}, func(_, set *clusterv1beta2.ManagedClusterSet) { s.setSet(set) }, s.setSet),
	)
	return err
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

// renewTime returns the time in a lease, or the time of its creation if it was never renewed.
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

// setSet restores a stored disruption, and enqueues the fleet review, which writes a missing condition again.
func (s *source) setSet(set *clusterv1beta2.ManagedClusterSet) {
	if set.Name == clusterv1beta2.GlobalClusterSetName {
		s.health.restoreDisruption(set)
		s.health.enqueue(fleetRequest)
	}
}

// WaitForSync blocks until the cache is complete.
func (s *source) WaitForSync(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, syncPoll, true, func(context.Context) (bool, error) { return s.synced(), nil })
	if err != nil {
		return fmt.Errorf("waiting for the clusters to be read: %w", err)
	}
	s.health.start(s.clock.Now())
	return nil
}
