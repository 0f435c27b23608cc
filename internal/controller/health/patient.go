package health

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

const (
	// patience is how many periods of its lease a cluster may be silent before nobody knows how it is.
	patience = 5
	// usualLease is the period of a lease for which the cluster names none.
	usualLease = 60 * time.Second
)

// facts are what the loop goes by of a cluster. Two equal ones need no second look.
type facts struct {
	// watched clusters were accepted or denied: their leases count.
	watched bool
	// joined clusters have said at least once how they are.
	joined bool
	// reported clusters are those about which anybody ever said anything.
	reported bool
	deleting bool
	// available is what is reported; empty where nothing is.
	available metav1.ConditionStatus
	// grace is how long the cluster may be silent.
	grace time.Duration
}

func read(cluster *clusterv1.ManagedCluster) facts {
	accepted := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted)
	joined := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionJoined)
	available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	out := facts{
		watched:  accepted != nil,
		joined:   joined != nil && joined.Status == metav1.ConditionTrue,
		reported: accepted != nil || joined != nil || available != nil,
		deleting: !cluster.DeletionTimestamp.IsZero(),
		grace:    grace(cluster.Spec.LeaseDurationSeconds),
	}
	if available != nil {
		out.available = available.Status
		out.joined = out.joined || available.Status == metav1.ConditionTrue || available.Status == metav1.ConditionFalse
	}
	return out
}

func grace(leaseSeconds int32) time.Duration {
	if leaseSeconds <= 0 {
		return patience * usualLease
	}
	return patience * time.Duration(leaseSeconds) * time.Second
}

// patient is a cluster with the times that matter. None of them is later than when it was seen: a cluster whose clock is
// ahead gets no more time than others.
type patient struct {
	facts
	// since is from when on the cluster is reported as it is.
	since time.Time
	// renewed is when the lease was last renewed; zero where there is no lease.
	renewed time.Time
	// seen is when the loop itself last saw it renewed; zero until it has.
	seen time.Time
}

// heard returns when the cluster last gave a sign of life: it renewed its lease, or said how it is. That both count
// keeps the order in which they arrive from mattering.
func (p patient) heard() time.Time {
	if p.declared() || p.available == "" {
		return p.renewed
	}
	return later(p.renewed, p.since)
}

// declared says whether it is reported that nobody knows how the cluster is.
func (p patient) declared() bool { return p.available == metav1.ConditionUnknown }

// expiry is when the cluster has been silent for too long. No time before the floor counts.
func (p patient) expiry(floor time.Time) time.Time {
	return later(p.heard(), floor).Add(p.grace)
}

// silent says whether a cluster has given no sign of life for half of its grace, in which healthy ones give two. What
// the loop saw itself counts too: a hub whose clock is off is no hub that nobody reaches.
func (p patient) silent(now time.Time) bool {
	return !p.renewed.IsZero() && !now.Before(later(p.heard(), p.seen).Add(p.grace/2))
}

// counts says whether a cluster is one of those whose silence tells something about the hub. One that has been declared
// for a whole grace when the window ends is old news.
func (p patient) counts(window time.Time) bool {
	return p.watched && p.joined && !p.deleting && (!p.declared() || p.since.After(window.Add(-p.grace)))
}

// leastSilent is how few silent clusters are never taken for a fault of the hub.
const leastSilent = 3

// census counts the clusters whose silence tells something, and those of them that are silent.
type census struct{ joined, silent int }

// suspicious says whether so many are silent at once that the hub is suspected. The limit is in percent.
func (c census) suspicious(limit int) bool {
	return c.silent >= leastSilent && c.silent*100 > limit*c.joined
}

// calm says whether so few are silent that the suspicion ends: half of the limit, so that it does not come and go.
func (c census) calm(limit int) bool {
	return limit >= 100 || c.silent*200 <= limit*c.joined
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
