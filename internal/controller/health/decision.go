package health

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/registration"
)

// decisionInput is all that the decision on one cluster depends on. It is read-only.
type decisionInput struct {
	clusterHealth
	cluster *clusterv1.ManagedCluster
	// renewTime is what the lease holds.
	renewTime time.Time
	// silenceFrom is from when on silence counts.
	silenceFrom time.Time
	// watchInterrupted says that the watch of the leases is interrupted, so that silence means nothing.
	watchInterrupted bool
	// suspended says that the hub is suspected.
	suspended bool
	// mode is what holds for clusters that no agent has ever reported; release says that their taint is removed.
	mode    unjoinedMode
	release bool
	// clock is the status that ClockSynced is to get, empty where it stays; clockLookAgain is when to decide that again.
	clock          metav1.ConditionStatus
	clockLookAgain time.Time
	now            time.Time
}

// overdue tells whether the loop has not heard of the cluster for a whole grace.
func (s decisionInput) overdue() bool {
	return s.watched && s.leased && !s.now.Before(s.expiry(s.silenceFrom))
}

// expired tells whether the cluster has been silent for too long.
func (s decisionInput) expired() bool { return s.overdue() && !s.watchInterrupted }

// decision is what is to be done about one cluster.
type decision struct {
	// createLease says that the cluster is to get a lease.
	createLease bool
	// reportUnknown says that the cluster is to be reported Unknown.
	reportUnknown bool
	// clock is the status that the condition ClockSynced is to get; empty where it stays.
	clock metav1.ConditionStatus
	// simulate says that the conditions of a simulated cluster are to be written, endSimulation that they are to be removed.
	simulate, endSimulation bool
	taints                  taintChange
	// lookAgain is when the decision may be another one though nothing has changed; zero: never.
	lookAgain time.Time
}

// decide decides on a cluster. While the hub is suspected, no cluster is reported Unknown and no taint is put on or
// exchanged: only the taints of clusters that are reported available are removed.
func decide(s decisionInput) decision {
	out := decision{clock: s.clock, lookAgain: s.clockLookAgain}
	out.simulate = s.simulated && s.simulation != fullySimulated && !s.deleting
	out.endSimulation = s.simulation != notSimulated && !registration.SimulationRequested(s.cluster) && !s.deleting
	switch {
	case !s.watched:
	case !s.leased:
		out.createLease = !s.deleting
		out.reportUnknown = s.deleting && !s.unknown() // there is nothing to wait for, and no taint follows
	case s.watchInterrupted:
	case !s.expired():
		out.lookAgain = earliest(out.lookAgain, s.expiry(s.silenceFrom))
	default:
		out.reportUnknown = !s.unknown() && !s.suspended
	}
	if s.deleting {
		return out
	}
	out.taints = taintChange{taints: s.cluster.Spec.Taints}
	if want, known := s.wantedTaint(out.reportUnknown); known && (want == "" || !s.suspended) {
		out.taints = changeTaints(s.cluster.Spec.Taints, want, s.now)
	}
	out.taints = changeDenied(out.taints, s.deniedTaint(), s.now)
	if out.simulate && !out.taints.empty() { // the taints first: what is fully simulated keeps the ones that it has
		out.simulate, out.lookAgain = false, s.now
	}
	return out
}

// wantedTaint returns the key of the taint that goes with the health of a cluster, empty where none does. Known is false
// where the taints stay as they are.
func (s decisionInput) wantedTaint(reportUnknown bool) (key string, known bool) {
	available := s.available
	if reportUnknown {
		available = metav1.ConditionUnknown
	}
	switch {
	case s.simulated: // once it is available, the taints are the user's, such as to simulate an outage
		return "", s.simulation != fullySimulated
	case s.reported:
		return wantedTaint(available), true
	case s.mode == modeAll:
		return clusterv1.ManagedClusterTaintUnreachable, true
	default:
		return "", s.release
	}
}

// deniedTaint tells whether a cluster is to have the taint of denied ones.
func (s decisionInput) deniedTaint() presence {
	switch {
	case s.denied && (s.mode == modeAll || s.mode == modeReported && s.reported):
		return present
	case s.cluster.Spec.HubAcceptsClient || s.simulated || s.release && !s.reported:
		return absent
	default:
		return unchanged
	}
}

// earliest returns the earlier of two times of which zero means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	if b.IsZero() {
		return a
	}
	return earlier(a, b)
}
