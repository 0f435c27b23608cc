package health

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// situation is all that the decision on one cluster depends on. It is read-only.
type situation struct {
	patient
	cluster *clusterv1.ManagedCluster
	// floor is from when on silence counts.
	floor time.Time
	// suspended says that the hub is suspected.
	suspended bool
	// unjoined says that a cluster about which nobody ever said anything is unreachable.
	unjoined bool
	now      time.Time
}

// expired says whether the cluster has been silent for too long.
func (s situation) expired() bool {
	return s.watched && !s.renewed.IsZero() && !s.now.Before(s.expiry(s.floor))
}

// decision is what is to be done about one cluster.
type decision struct {
	// lease says that the cluster is to get one.
	lease bool
	// declare says that the cluster is to be reported as one that nobody knows of how it is.
	declare bool
	taints  change
	// lookAgain is when the decision may be another one though nothing has changed; zero: never.
	lookAgain time.Time
}

// decide says what is to be done about a cluster. While the hub is suspected, nobody is declared and no taint is put on
// or exchanged: only those go whose clusters are reported available.
func decide(s situation) decision {
	var out decision
	switch {
	case !s.watched:
	case s.renewed.IsZero():
		out.lease = !s.deleting
		out.declare = s.deleting && !s.declared() // there is nothing to wait for, and nobody is tainted over it
	case !s.expired():
		out.lookAgain = s.expiry(s.floor)
	default:
		out.declare = !s.declared() && !s.suspended
	}
	available := s.available
	if out.declare {
		available = metav1.ConditionUnknown
	}
	want := wanted(available)
	if s.deleting || !s.reported && !s.unjoined || s.suspended && want != "" {
		return out
	}
	out.taints = retaint(s.cluster.Spec.Taints, want, s.now)
	return out
}
