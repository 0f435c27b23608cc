package health

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// situation is all that the decision on one cluster depends on. It is read-only.
type situation struct {
	clusterHealth
	cluster *clusterv1.ManagedCluster
	// renewTime is what the lease holds.
	renewTime time.Time
	// floor is from when on silence counts.
	floor time.Time
	// unobserved says that the watch of the leases is interrupted, so that silence means nothing.
	unobserved bool
	// suspended says that the hub is suspected.
	suspended bool
	// unjoined says that clusters of which nothing was ever reported are tainted.
	unjoined bool
	// clock is the status that ClockSynced is to get, empty where it stays; clockLookAgain is when to decide that again.
	clock          metav1.ConditionStatus
	clockLookAgain time.Time
	now            time.Time
}

// overdue tells whether the loop has not heard of the cluster for a whole grace.
func (s situation) overdue() bool {
	return s.watched && s.leased && !s.now.Before(s.expiry(s.floor))
}

// expired tells whether the cluster has been silent for too long.
func (s situation) expired() bool { return s.overdue() && !s.unobserved }

// decision is what is to be done about one cluster.
type decision struct {
	// createLease says that the cluster is to get a lease.
	createLease bool
	// reportUnknown says that the cluster is to be reported Unknown.
	reportUnknown bool
	// clock is the status that the condition ClockSynced is to get; empty where it stays.
	clock  metav1.ConditionStatus
	taints taintChange
	// lookAgain is when the decision may be another one though nothing has changed; zero: never.
	lookAgain time.Time
}

// decide decides on a cluster. While the hub is suspected, no cluster is reported Unknown and no taint is put on or
// exchanged: only the taints of clusters that are reported available are removed.
func decide(s situation) decision {
	out := decision{clock: s.clock, lookAgain: s.clockLookAgain}
	switch {
	case !s.watched:
	case !s.leased:
		out.createLease = !s.deleting
		out.reportUnknown = s.deleting && !s.unknown() // there is nothing to wait for, and no taint follows
	case s.unobserved:
	case !s.expired():
		out.lookAgain = firstOf(out.lookAgain, s.expiry(s.floor))
	default:
		out.reportUnknown = !s.unknown() && !s.suspended
	}
	available := s.available
	if out.reportUnknown {
		available = metav1.ConditionUnknown
	}
	want := wantedTaint(available)
	if s.deleting || !s.reported && !s.unjoined || s.suspended && want != "" {
		return out
	}
	out.taints = changeTaints(s.cluster.Spec.Taints, want, s.now)
	return out
}

// firstOf returns the earlier of two times of which zero means never.
func firstOf(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	if b.IsZero() {
		return a
	}
	return earlier(a, b)
}
