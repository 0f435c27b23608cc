package health

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/registration"
)

const (
	// gracePeriods is how many periods of its lease a cluster may be silent before it is reported Unknown.
	gracePeriods = 5
	// defaultLeasePeriod is the period of a lease for which the cluster names none, and maxLeasePeriod the longest that counts. Longer
	// ones are read as maxLeasePeriod, so that no cluster is noticed later than after five hours, and no duration overflows.
	defaultLeasePeriod = time.Minute
	maxLeasePeriod     = time.Hour
)

// facts are what the decision on a cluster reads from the stored object. Two equal ones need no second decision.
type facts struct {
	// watched clusters were accepted or denied: their leases count.
	watched bool
	// joined clusters have an agent that reported at least once.
	joined bool
	// reported clusters are those that an agent has ever reported, or that were simulated while their annotation stays.
	reported bool
	// denied clusters were accepted or have reported, and are not accepted now.
	denied bool
	// simulated clusters have no agent: the loop reports them itself.
	simulated bool
	// simulation is what the stored conditions show of a simulation.
	simulation simulationState
	deleting   bool
	// available is the reported condition; empty where there is none.
	available metav1.ConditionStatus
	// clockSynced is the reported condition; empty where there is none.
	clockSynced metav1.ConditionStatus
	// skipClock says that the clock of the agent is to be taken for synced.
	skipClock bool
	// grace is how long the cluster may be silent.
	grace time.Duration
}

// readFacts reads a cluster. simulate says that the loop simulates those that are annotated so.
func readFacts(cluster *clusterv1.ManagedCluster, simulate bool) facts {
	accepted := registration.Condition(cluster, clusterv1.ManagedClusterConditionHubAccepted)
	joined := registration.Condition(cluster, clusterv1.ManagedClusterConditionJoined)
	available := registration.Condition(cluster, clusterv1.ManagedClusterConditionAvailable)
	agent := registration.Reported(cluster)
	simulated := simulate && registration.SimulationRequested(cluster) && !agent
	simulatedBefore := available != nil && registration.Simulated(*available) && !agent
	out := facts{
		watched:    accepted != nil && !simulated && !simulatedBefore,
		joined:     joined != nil && joined.Status == metav1.ConditionTrue,
		reported:   agent || simulatedBefore,
		denied:     registration.Denied(cluster) && !simulated && !simulatedBefore,
		simulated:  simulated,
		simulation: readSimulation(cluster),
		deleting:   !cluster.DeletionTimestamp.IsZero(),
		skipClock:  cluster.Annotations[clusterv1.SkipClockSyncCheckAnnotationKey] == "true",
		grace:      gracePeriods * leasePeriod(cluster.Spec.LeaseDurationSeconds),
	}
	if available != nil {
		out.available = available.Status
		out.joined = out.joined || available.Status == metav1.ConditionTrue || available.Status == metav1.ConditionFalse
	}
	if synced := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionClockSynced); synced != nil {
		out.clockSynced = synced.Status
	}
	return out
}

// leasePeriod returns the period of a lease of so many seconds, within its bounds.
func leasePeriod(seconds int32) time.Duration {
	if seconds <= 0 {
		return defaultLeasePeriod
	}
	return min(time.Duration(seconds)*time.Second, maxLeasePeriod)
}

// clusterHealth is a cluster with the times at which this process observed it. No time that another clock wrote is among
// those by which a cluster is judged alive.
type clusterHealth struct {
	facts
	// leased says that there is a lease.
	leased bool
	// lastSeen is when the loop last saw a sign of life: a renewed lease, or another report. It is zero where the loop has seen
	// none since it began to watch.
	lastSeen time.Time
	// unknownSince is when the cluster was reported Unknown: as observed, or as stored where it was by the start of the loop.
	// It decides what counts as recent, not whether a cluster is alive.
	unknownSince time.Time
	// skew is how the clock of the agent differs from this one.
	skew skew
}

// unknown tells whether the cluster is reported Unknown.
func (c clusterHealth) unknown() bool { return c.available == metav1.ConditionUnknown }

// expiry is when the cluster has been silent for too long. No time before the floor counts.
func (c clusterHealth) expiry(floor time.Time) time.Time {
	return later(c.lastSeen, floor).Add(c.grace)
}

// silent tells whether a cluster has given no sign of life for half of its grace, in which healthy ones give two. No time
// before the floor counts.
func (c clusterHealth) silent(now, floor time.Time) bool {
	return c.leased && !now.Before(later(c.lastSeen, floor).Add(c.grace/2))
}

// countsForDisruption tells whether the silence of a cluster says something about the hub. One that was reported Unknown for a whole
// grace when the window ends is old news.
func (c clusterHealth) countsForDisruption(window time.Time) bool {
	return c.watched && c.joined && !c.deleting && (!c.unknown() || c.unknownSince.After(window.Add(-c.grace)))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
