package health

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/membership/registration"
)

// facts are the parts of the stored object that a decision reads. Equal facts give the same decision.
type facts struct {
	// watched clusters were accepted or denied, so their leases count.
	watched bool
	// joined clusters were reported by an agent at least once.
	joined bool
	// reported clusters were ever reported by an agent, or are simulated.
	reported bool
	// denied clusters were accepted or reported before and are not accepted now.
	denied bool
	// simulated clusters have no agent: the controller reports them.
	simulated bool
	// simulation is how far the stored conditions are simulated.
	simulation simulationState
	deleting   bool
	// withoutNamespace means that the namespace is being deleted. The lease is created again after it.
	withoutNamespace bool
	// available is the status of the condition; empty without a condition.
	available metav1.ConditionStatus
	// clockSynced is the status of the condition; empty without a condition.
	clockSynced metav1.ConditionStatus
	// skipClock means that the clock of the agent counts as synced.
	skipClock bool
	// grace is how long the cluster may be silent.
	grace time.Duration
}

// readFacts reads the facts of a cluster. simulate enables the simulation of annotated clusters.
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
		grace:      registration.GracePeriod(cluster),
	}
	out.withoutNamespace = accepted != nil && accepted.Reason == clusterv1.ReasonNamespaceTerminating
	if available != nil {
		out.available = available.Status
		out.joined = out.joined || available.Status == metav1.ConditionTrue || available.Status == metav1.ConditionFalse
	}
	if synced := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionClockSynced); synced != nil {
		out.clockSynced = synced.Status
	}
	return out
}

// clusterHealth is a cluster with the times at which this process observed it. Times that other clocks wrote do not decide whether a
// cluster is alive.
type clusterHealth struct {
	facts
	// leased means that the lease exists.
	leased bool
	// lastSeen is when this process last observed a renewed lease or a new report; zero if it has observed none.
	lastSeen time.Time
	// shortenedAt is when the grace period became shorter before it had ended; zero if it has not.
	shortenedAt time.Time
	// unknownSince is when the cluster was reported Unknown: as observed, or as stored if it was before the start. It decides what
	// counts as recent, not whether a cluster is alive.
	unknownSince time.Time
	// skew is the difference between the clocks of the agent and of this process.
	skew skew
}

// unknown reports whether the stored status is Unknown.
func (c clusterHealth) unknown() bool { return c.available == metav1.ConditionUnknown }

// expiry returns when the grace period of the cluster ends. No time before the floor counts.
func (c clusterHealth) expiry(floor time.Time) time.Time {
	return later(c.seen(), floor).Add(c.grace)
}

// silent reports whether a cluster was not observed for half of its grace period. A healthy cluster renews its lease twice in that
// time. No time before the floor counts.
func (c clusterHealth) silent(now, floor time.Time) bool {
	return c.leased && !now.Before(later(c.seen(), floor).Add(c.grace/2))
}

// seen returns the time from which the silence of the cluster counts.
func (c clusterHealth) seen() time.Time { return later(c.lastSeen, c.shortenedAt) }

// countsForDisruption reports whether the cluster counts in the detection of a disruption. A cluster that was reported Unknown more
// than a grace period before the end of the window does not.
func (c clusterHealth) countsForDisruption(window time.Time) bool {
	return c.watched && c.joined && !c.deleting && (!c.unknown() || c.unknownSince.After(window.Add(-c.grace)))
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
