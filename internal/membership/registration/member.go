package registration

import (
	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// AgentUIDAnnotationKey on a ManagedCluster is the UID of the member's kube-system namespace, as its agent reports it.
const AgentUIDAnnotationKey = "agent.open-cluster-management.io/berth-cluster-uid"

// SharedIdentityAnnotationKey with value "true" on a ManagedCluster accepts that its member has the UID of another cluster's: machines that
// were made from the image of one disk have.
const SharedIdentityAnnotationKey = "berth-project.io/shared-identity"

// holdsMember reports whether the agent of the recorded member of a cluster may deliver.
func holdsMember(cluster *clusterv1.ManagedCluster) bool {
	return AdmitsAgent(cluster) && cluster.DeletionTimestamp.IsZero()
}

// SharedIdentityAccepted reports whether an administrator has accepted that a cluster has the UID of another one.
func SharedIdentityAccepted(cluster *clusterv1.ManagedCluster) bool {
	return cluster.Annotations[SharedIdentityAnnotationKey] == "true"
}

// OtherNameOf returns the name of an accepted cluster whose recorded member has a UID, and that is another cluster; empty without one.
// clusters are in any order.
func OtherNameOf(uid string, of *clusterv1.ManagedCluster, clusters []clusterv1.ManagedCluster) string {
	out := ""
	if uid == "" || SharedIdentityAccepted(of) {
		return ""
	}
	for i := range clusters {
		other := &clusters[i]
		if other.Annotations[clusterv1.ClusterUIDAnnotationKey] == uid && other.Name != of.Name && holdsMember(other) &&
			!SharedIdentityAccepted(other) && (out == "" || other.Name < out) {
			out = other.Name
		}
	}
	return out
}

// MemberToRecord returns the UID of the member that the agent of a cluster reports, where the hub has recorded none, as after the
// ManagedCluster was deleted and created again; otherwise empty. A cluster that waits for the holder of a join token records the member of
// its request. An agent with a token is recorded when it joins.
func MemberToRecord(cluster *clusterv1.ManagedCluster) string {
	reported := cluster.Annotations[AgentUIDAnnotationKey]
	if !validUID(reported) || cluster.Annotations[clusterv1.ClusterUIDAnnotationKey] != "" || UsesToken(cluster) ||
		cluster.Annotations[clusterv1.JoinRequesterAnnotationKey] != "" || !AdmitsAgent(cluster) || !cluster.DeletionTimestamp.IsZero() ||
		!meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted) {
		return ""
	}
	return reported
}
