// Package cluster follows the ManagedCluster of an agent on its hub.
//
// It owns the last version read and since when the hub has none or refuses the agent. It writes nothing. The invariant: a failed
// reading removes nothing; only a list or a watch event reports that the ManagedCluster is gone.
package cluster

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Access is the last outcome of reading the ManagedCluster.
type Access int

// Outcomes. A hub that does not respond changes nothing.
const (
	// Unknown means that the hub has not responded yet.
	Unknown Access = iota
	// Present means that the hub has the ManagedCluster.
	Present
	// Absent means that the hub has no such ManagedCluster.
	Absent
	// Forbidden means that the agent may not read it: the cluster is not accepted yet, or was deleted.
	Forbidden
	// Unauthorized means that the hub does not accept the certificate.
	Unauthorized
)

// State is what the agent has read. It is read-only.
type State struct {
	// Cluster is the last version; nil before the first, and once the hub has none.
	Cluster *clusterv1.ManagedCluster
	Access  Access
	// Since is when Access last changed.
	Since time.Time
	// UID is that of the member of the agent.
	UID string
}

// Accepted returns whether the hub accepts the cluster, and accepts it as this member.
func (s State) Accepted() bool {
	return s.Cluster != nil && s.Cluster.Spec.HubAcceptsClient && s.OtherMember() == ""
}

// Granted reports whether the hub has given the agent its permissions.
func (s State) Granted() bool {
	return s.Access == Present && s.Accepted() && meta.IsStatusConditionTrue(s.Cluster.Status.Conditions,
		clusterv1.ManagedClusterConditionHubAccepted)
}

// OtherMember returns the UID of the member that the hub has recorded where that is another member; otherwise empty. A copy of a
// member has the credential of the original and must not report in its place.
func (s State) OtherMember() string {
	if s.Cluster == nil || s.Cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] == s.UID {
		return ""
	}
	return s.Cluster.Annotations[clusterv1.ClusterUIDAnnotationKey]
}

// observe returns the state after a list or a watch event. A nil cluster is absent.
func (s State) observe(cluster *clusterv1.ManagedCluster, now time.Time) State {
	access := Present
	if cluster == nil {
		access = Absent
	}
	return s.with(cluster, access, now)
}

// fail returns the state after a list that failed. A cluster that was absent stays absent when the hub withdraws its
// permissions.
func (s State) fail(err error, now time.Time) State {
	switch {
	case apierrors.IsUnauthorized(err):
		return s.with(s.Cluster, Unauthorized, now)
	case apierrors.IsForbidden(err) && s.Access != Absent:
		return s.with(s.Cluster, Forbidden, now)
	default:
		return s
	}
}

func (s State) with(cluster *clusterv1.ManagedCluster, access Access, now time.Time) State {
	out := State{Cluster: cluster, Access: access, Since: s.Since, UID: s.UID}
	if access != s.Access {
		out.Since = now
	}
	return out
}

// rejoinDelay is how long a ManagedCluster is gone, or the certificate refused, before the agent joins again.
const rejoinDelay = 5 * time.Minute

// Rejoin is what an agent does about a ManagedCluster that it cannot read.
type Rejoin int

// What an agent does.
const (
	// Stay means to go on.
	Stay Rejoin = iota
	// Look means to read the ManagedCluster with the bootstrap credential, and to join again if it is gone.
	Look
	// Join means to join again.
	Join
)

// Rejoin returns whether the agent joins again, and otherwise when to decide again; 0 means at the next change.
func (s State) Rejoin(now time.Time) (Rejoin, time.Duration) {
	if s.Access == Unknown || s.Access == Present {
		return Stay, 0
	}
	if left := s.Since.Add(rejoinDelay).Sub(now); left > 0 {
		return Stay, left
	}
	if s.Access == Unauthorized {
		return Join, 0
	}
	return Look, 0
}
