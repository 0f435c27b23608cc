package acceptance

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// silence observes the leases of clusters that are being deleted. It compares the time in a lease only with the time before, so that
// the clock of no agent matters. It is safe for concurrent use.
type silence struct {
	mu   sync.Mutex
	seen map[string]observation // by cluster
}

// observation is the time in a lease, and when this process first read it.
type observation struct {
	uid              types.UID
	renewTime, since time.Time
}

// observe records the lease of a cluster, and returns how long its agent has been silent; zero for less than a grace period. A cluster that
// an agent has reported must also be Unknown: while the health controller suspends its reports, no agent counts as silent.
func (s *silence) observe(cluster *clusterv1.ManagedCluster, renewTime, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.seen[cluster.Name]
	if !known || last.uid != cluster.UID || !last.renewTime.Equal(renewTime) {
		s.seen[cluster.Name] = observation{cluster.UID, renewTime, now}
		return 0
	}
	available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	if silent := now.Sub(last.since); silent >= registration.GracePeriod(cluster) &&
		(available == nil || available.Status == metav1.ConditionUnknown) {
		return silent
	}
	return 0
}

// evict drops a cluster that is gone.
func (s *silence) evict(cluster string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, cluster)
}
