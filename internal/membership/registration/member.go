package registration

import (
	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// AgentUIDAnnotationKey on a ManagedCluster is the UID of the member's kube-system namespace, as its agent reports it.
const AgentUIDAnnotationKey = "agent.open-cluster-management.io/berth-cluster-uid"

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
