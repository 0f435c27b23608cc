package registration

import (
	"fmt"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// AdmitsAgent reports whether a cluster admits an agent to the namespace of its name. A simulated cluster and an imported cluster have no
// agent.
func AdmitsAgent(cluster *clusterv1.ManagedCluster) bool {
	return cluster != nil && cluster.Spec.HubAcceptsClient && !SimulationRequested(cluster) && !Imported(cluster)
}

// NamespaceOwner returns the cluster whose namespace has these labels; empty for the namespace of no cluster. The name of a
// namespace proves nothing: the agent of a cluster named "payments" must not get access to the objects of a team of this name.
func NamespaceOwner(labels map[string]string) string { return labels[clusterv1.ClusterNameLabelKey] }

// ForeignNamespaceMessage describes a namespace that has the name of a cluster and belongs to no cluster or another, and the
// remedy.
func ForeignNamespaceMessage(cluster string) string {
	return fmt.Sprintf("the namespace %q exists and is not labelled as this cluster's; if it is meant for the agent of this cluster, "+
		"label it %s=%s, else give the cluster another name", cluster, clusterv1.ClusterNameLabelKey, cluster)
}
