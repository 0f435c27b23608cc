package registration

// The roles of an agent. Open Cluster Management uses the same names.
const (
	// AgentRole is the ClusterRole for the agent's registration. It is bound in the namespace of the cluster.
	AgentRole = rolePrefix + "registration"
	// WorkRole is the ClusterRole for the agent's works. It is bound in the namespace of the cluster.
	WorkRole = rolePrefix + "work"
	// AgentAccount is the service account of an agent, in the namespace of its cluster, where the hub signs no certificates.
	AgentAccount = "berth-agent"

	rolePrefix = "open-cluster-management:managedcluster:"
)

// ClusterRole returns the name of the ClusterRole of a cluster, and of its binding.
func ClusterRole(cluster string) string { return rolePrefix + cluster }

// AgentBinding returns the name of the RoleBinding of a cluster to AgentRole.
func AgentBinding(cluster string) string { return rolePrefix + cluster + ":registration" }

// WorkBinding returns the name of the RoleBinding of a cluster to WorkRole.
func WorkBinding(cluster string) string { return rolePrefix + cluster + ":work" }

// CloudGroup is the group of a cluster whose agent authenticates with an identity of a cloud.
func CloudGroup(cluster string) string { return "open-cluster-management:" + cluster }
