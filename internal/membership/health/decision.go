package health

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/when"
	"github.com/berth-project/berth/internal/membership/registration"
)

// decisionInput is the input of the decision on one cluster. It is read-only.
type decisionInput struct {
	clusterHealth
	cluster *clusterv1.ManagedCluster
	// renewTime is the time in the lease.
	renewTime time.Time
	// silenceFrom is the time from which silence counts.
	silenceFrom time.Time
	// watchInterrupted means that no renewal can be observed now.
	watchInterrupted bool
	// suspended means that too many clusters are silent to report any of them.
	suspended bool
	// mode is how clusters that no agent has ever reported are tainted. release means that their taint is removed.
	mode    unjoinedMode
	release bool
	// clock is the new status of ClockSynced, empty if it stays. clockLookAgain is when to check it again.
	clock          metav1.ConditionStatus
	clockLookAgain time.Time
	now            time.Time
}

// overdue reports whether the cluster was not observed for a grace period.
func (d decisionInput) overdue() bool {
	return d.watched && d.leased && !d.now.Before(d.expiry(d.silenceFrom))
}

// expired reports whether the cluster has been silent for too long.
func (d decisionInput) expired() bool { return d.overdue() && !d.watchInterrupted }

// decision is the set of writes for one cluster.
type decision struct {
	createLease   bool
	reportUnknown bool
	// clock is the new status of the condition ClockSynced; empty if it stays.
	clock metav1.ConditionStatus
	// simulate writes the conditions of a simulated cluster, endSimulation removes them.
	simulate, endSimulation bool
	taints                  taintChange
	// lookAgain is when the decision may change without an event; zero: never.
	lookAgain time.Time
}

// decide decides on a cluster. While reporting is suspended, no cluster is reported Unknown and no taint is added or replaced. Only the
// taints of available clusters are removed.
func decide(s decisionInput) decision {
	out := decision{clock: s.clock, lookAgain: s.clockLookAgain}
	out.simulate = s.simulated && s.simulation != fullySimulated && !s.deleting
	out.endSimulation = s.simulation != notSimulated && !registration.SimulationRequested(s.cluster) && !s.deleting
	switch {
	case !s.watched:
	case !s.leased:
		out.createLease = !s.deleting
		out.reportUnknown = s.deleting && !s.unknown() // without a lease there is no grace period
	case s.watchInterrupted:
	case !s.expired():
		out.lookAgain = when.Earliest(out.lookAgain, s.expiry(s.silenceFrom))
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
	if out.simulate && !out.taints.empty() { // taints first: a fully simulated cluster keeps its taints
		out.simulate, out.lookAgain = false, s.now
	}
	return out
}

// wantedTaint returns the key of the taint for the health of a cluster, empty for none. Known is false if the taints stay as they are.
func (d decisionInput) wantedTaint(reportUnknown bool) (key string, known bool) {
	available := d.available
	if reportUnknown {
		available = metav1.ConditionUnknown
	}
	switch {
	case d.simulated: // the user may taint an available cluster to simulate an outage
		return "", d.simulation != fullySimulated
	case d.reported:
		return wantedTaint(available), true
	case d.mode == modeAll:
		return clusterv1.ManagedClusterTaintUnreachable, true
	default:
		return "", d.release
	}
}

// deniedTaint returns whether a cluster gets or loses the taint of denied clusters.
func (d decisionInput) deniedTaint() presence {
	switch {
	case d.denied && (d.mode == modeAll || d.mode == modeReported && d.reported):
		return present
	case d.cluster.Spec.HubAcceptsClient || d.simulated || d.release && !d.reported:
		return absent
	default:
		return unchanged
	}
}
