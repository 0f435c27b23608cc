package registration

import clusterv1 "github.com/berth-project/berth/api/cluster/v1"

// KeepsWorkloads reports whether the workloads of a cluster that is being deleted stay on its member: by its annotation, or by the default
// of the hub. Those of a denied cluster stay in any case, since its agent may do nothing any more.
func KeepsWorkloads(cluster *clusterv1.ManagedCluster, byDefault string) bool {
	if cluster.DeletionTimestamp.IsZero() {
		return false
	}
	if !cluster.Spec.HubAcceptsClient {
		return true
	}
	switch value := cluster.Annotations[clusterv1.OnDeleteAnnotationKey]; value {
	case clusterv1.OnDeleteRemove, clusterv1.OnDeleteKeep:
		return value == clusterv1.OnDeleteKeep
	default:
		return byDefault == clusterv1.OnDeleteKeep
	}
}
