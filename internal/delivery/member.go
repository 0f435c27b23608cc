package delivery

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/evidence"
)

// renewal is the last renewal of a lease that this process saw. The time in a lease is by the clock of the agent, so that only a change of
// it is a sign of life.
type renewal struct {
	stored time.Time
	// seen is when the time changed; silent before the first change.
	seen time.Time
}

// silent is the time of a renewal that was not seen. It is not zero, which would be a cluster without a lease.
var silent = time.Unix(1, 0) //nolint:gochecknoglobals // a constant

// members reads what is known of the clusters that the rollout of a set has on record, and of those that leave it. It notes them, so that a
// change of one wakes the set.
func (r *reconciler) members(ctx context.Context, s *setState, in *plan.Input) (map[string]evidence.Member, error) {
	soaking := map[string]bool{}
	if record := in.Set.Status.Rollout; record != nil && record.FinishedTime == nil {
		for i := range record.Clusters {
			soaking[record.Clusters[i].Name] = record.Clusters[i].SucceededTime != nil
		}
	}
	for _, work := range in.Works {
		if _, known := soaking[work.Namespace]; !known && !selects(in, work.Namespace) {
			soaking[work.Namespace] = false
		}
	}
	out := make(map[string]evidence.Member, len(soaking))
	s.watchMembers(soaking)
	for name, soaks := range soaking {
		cluster := &clusterv1.ManagedCluster{}
		err := r.client.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading ManagedCluster %s: %w", name, err)
		}
		member := evidence.Member{Gone: err != nil, Denied: err == nil && !cluster.Spec.HubAcceptsClient, Unavailable: unavailable(cluster)}
		if soaks && r.options.Leases && meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable) != nil {
			if member.Renewed, err = r.renewed(ctx, s, name, in.Now); err != nil {
				return nil, err
			}
		}
		out[name] = member
	}
	return out, nil
}

// unavailable reports whether a cluster that has joined is not known to be Available.
func unavailable(cluster *clusterv1.ManagedCluster) bool {
	condition := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	return condition != nil && condition.Status != metav1.ConditionTrue
}

// renewed returns when this process last saw the lease of a cluster renewed; zero for a cluster without a lease.
func (r *reconciler) renewed(ctx context.Context, s *setState, cluster string, now time.Time) (time.Time, error) {
	lease := &coordinationv1.Lease{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: cluster, Name: clusterv1.ManagedClusterLeaseName}, lease, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return time.Time{}, fmt.Errorf("reading the lease of ManagedCluster %s: %w", cluster, err)
	}
	if err != nil || lease.Spec.RenewTime == nil {
		return time.Time{}, nil //nolint:nilerr // the cluster has no lease
	}
	return s.sawLease(cluster, lease.Spec.RenewTime.Time, now), nil
}

// sawLease records the time in a lease and returns when it last changed.
func (s *setState) sawLease(cluster string, stored, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, has := s.renewals[cluster]
	switch {
	case !has:
		known = renewal{stored, silent}
	case !known.stored.Equal(stored):
		known = renewal{stored, now}
	}
	if s.renewals == nil {
		s.renewals = map[string]renewal{}
	}
	s.renewals[cluster] = known
	return known.seen
}

// watchMembers records the clusters whose state counts, and drops the renewals of all others.
func (s *setState) watchMembers(soaking map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = soaking
	for name := range s.renewals {
		if !soaking[name] {
			delete(s.renewals, name)
		}
	}
}

// watches reports whether the rollout of the set is judged by a cluster.
func (s *setState) watches(cluster string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, has := s.watched[cluster]
	return has
}
