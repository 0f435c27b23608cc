// Package member reads what rollouts are judged by beyond the reports on a change: whether a cluster exists, is accepted and Available, and
// when it last gave a sign of life.
//
// The caches of the manager and an instant go in, the members of package evidence come out. It decides nothing and writes nothing. The
// invariant: only a change of a lease that this process saw is a sign of life.
package member

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/internal/kube/evidence"
)

// Reader reads clusters and their leases from the caches of the manager.
type Reader struct {
	Client client.Reader
	// Leases means that the caches have the leases of clusters, so that a soak waits for a sign of life.
	Leases bool
}

// Watch is what a process holds of the clusters that one object rolls out to. The zero value is ready.
type Watch struct {
	mu sync.Mutex
	// watched are the clusters that the rollouts are judged by: true for a cluster that soaks. renewals are the leases of those that soak.
	watched  map[string]bool
	renewals map[string]renewal
}

// renewal is the last renewal of a lease that this process saw. The time in a lease is by the clock of the agent, so that only a change of
// it is a sign of life.
type renewal struct {
	stored time.Time
	// seen is when the time changed; silent before the first change.
	seen time.Time
}

// silent is the time of a renewal that was not seen. It is not zero, which would be a cluster without a lease.
var silent = time.Unix(1, 0) //nolint:gochecknoglobals // a constant

// Recorded returns the clusters on record of a rollout that has not finished: true for a cluster that soaks. A nil record has none.
func Recorded(record *clusterv1alpha1.RolloutRecord) map[string]bool {
	out := map[string]bool{}
	if record == nil || record.FinishedTime != nil {
		return out
	}
	for i := range record.Clusters {
		out[record.Clusters[i].Name] = record.Clusters[i].SucceededTime != nil
	}
	return out
}

// Read returns what is known of clusters: true for a cluster that soaks. It notes them, so that a change of one wakes the rollout.
func (w *Watch) Read(ctx context.Context, reader Reader, clusters map[string]bool, now time.Time) (map[string]evidence.Member, error) {
	out := make(map[string]evidence.Member, len(clusters))
	w.watch(clusters)
	for name, soaks := range clusters {
		cluster := &clusterv1.ManagedCluster{}
		err := reader.Client.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading ManagedCluster %s: %w", name, err)
		}
		member := evidence.Member{
			Gone:   err != nil || !cluster.DeletionTimestamp.IsZero(),
			Denied: err == nil && !cluster.Spec.HubAcceptsClient, Unavailable: Unavailable(cluster), Tainted: tainted(cluster),
		}
		if soaks && reader.Leases && meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable) != nil {
			if member.Renewed, err = w.renewed(ctx, reader.Client, name, now); err != nil {
				return nil, err
			}
		}
		out[name] = member
	}
	return out, nil
}

// Unavailable reports whether a cluster that has joined is not known to be Available.
func Unavailable(cluster *clusterv1.ManagedCluster) bool {
	condition := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	return condition != nil && condition.Status != metav1.ConditionTrue
}

// tainted returns when the last taint was put on a cluster that takes it away from placements; zero for none.
func tainted(cluster *clusterv1.ManagedCluster) time.Time {
	var out time.Time
	for _, taint := range cluster.Spec.Taints {
		if taint.Effect == clusterv1.TaintEffectNoSelect && taint.TimeAdded.After(out) {
			out = taint.TimeAdded.Time
		}
	}
	return out
}

// renewed returns when this process last saw the lease of a cluster renewed; zero for a cluster without a lease.
func (w *Watch) renewed(ctx context.Context, reader client.Reader, cluster string, now time.Time) (time.Time, error) {
	lease := &coordinationv1.Lease{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: cluster, Name: clusterv1.ManagedClusterLeaseName}, lease, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return time.Time{}, fmt.Errorf("reading the lease of ManagedCluster %s: %w", cluster, err)
	}
	if err != nil || lease.Spec.RenewTime == nil {
		return time.Time{}, nil //nolint:nilerr // the cluster has no lease
	}
	return w.sawLease(cluster, lease.Spec.RenewTime.Time, now), nil
}

// sawLease records the time in a lease and returns when it last changed.
func (w *Watch) sawLease(cluster string, stored, now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, has := w.renewals[cluster]
	switch {
	case !has:
		known = renewal{stored, silent}
	case !known.stored.Equal(stored):
		known = renewal{stored, now}
	}
	if w.renewals == nil {
		w.renewals = map[string]renewal{}
	}
	w.renewals[cluster] = known
	return known.seen
}

// watch records the clusters whose state counts, and drops the renewals of all others.
func (w *Watch) watch(clusters map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched = clusters
	for name := range w.renewals {
		if !clusters[name] {
			delete(w.renewals, name)
		}
	}
}

// Has reports whether a rollout of the object is judged by a cluster.
func (w *Watch) Has(cluster string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, has := w.watched[cluster]
	return has
}
