package registration

import "fmt"

// The roles of an agent. Open Cluster Management uses the same names.
const (
	// AgentRole is the ClusterRole for the agent's registration. It is bound in the namespace of the cluster.
	AgentRole = rolePrefix + "registration"
	// WorkRole is the ClusterRole for the agent's works. It is bound in the namespace of the cluster.
	WorkRole = rolePrefix + "work"
	// AgentAccount is the service account of an agent with the driver token, in the namespace of its cluster.
	AgentAccount = "berth-agent"
	// AccountRole is the ClusterRole to request tokens of AgentAccount, and AccountBinding the RoleBinding in the namespace of the
	// cluster.
	AccountRole    = "berth:agent-account"
	AccountBinding = "berth-agent-account"

	rolePrefix = "open-cluster-management:managedcluster:"
)

// ClusterRole returns the name of the ClusterRole of a cluster, and of its binding.
func ClusterRole(cluster string) string { return rolePrefix + cluster }

// TakesSharedRole reports whether the ClusterRole of a cluster would be a role that the agents of all clusters share. The hub gives
// such a cluster nothing: its permissions would be those of every agent, and its end would be the end of the shared role.
func TakesSharedRole(cluster string) bool {
	return ClusterRole(cluster) == AgentRole || ClusterRole(cluster) == WorkRole
}

// SharedRoleMessage describes a cluster whose ClusterRole would be a shared one, and the remedy.
func SharedRoleMessage(cluster string) string {
	return fmt.Sprintf("its ClusterRole would be %q, which the agents of all clusters share; register the cluster under another name",
		ClusterRole(cluster))
}

// AgentBinding returns the name of the RoleBinding of a cluster to AgentRole.
func AgentBinding(cluster string) string { return rolePrefix + cluster + ":registration" }

// WorkBinding returns the name of the RoleBinding of a cluster to WorkRole.
func WorkBinding(cluster string) string { return rolePrefix + cluster + ":work" }

// CloudGroup is the group of a cluster whose agent authenticates with an identity of a cloud.
func CloudGroup(cluster string) string { return "open-cluster-management:" + cluster }
