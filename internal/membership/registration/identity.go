package registration

import "strings"

const (
	// AgentsGroup is the group of the agents of all clusters.
	AgentsGroup = agentPrefix + "managed-clusters"
	// JoinNamespace is the namespace of the service accounts of join tokens, each named like its cluster.
	JoinNamespace = "berth-join"

	agentPrefix = "system:open-cluster-management:"
)

// AgentGroup returns the group of the agents of one cluster.
func AgentGroup(cluster string) string { return agentPrefix + cluster }

// AgentUser returns the user name of one agent of a cluster.
func AgentUser(cluster, agent string) string { return AgentGroup(cluster) + ":" + agent }

// ParseAgentUser returns the cluster and the agent of a user name; ok is false for the name of any other user.
func ParseAgentUser(user string) (cluster, agent string, ok bool) {
	rest, ok := strings.CutPrefix(user, agentPrefix)
	if !ok {
		return "", "", false
	}
	cluster, agent, ok = strings.Cut(rest, ":")
	return cluster, agent, ok && cluster != "" && agent != "" && !strings.Contains(agent, ":")
}

// JoinUser returns the user name of the join token of a cluster.
func JoinUser(cluster string) string { return "system:serviceaccount:" + JoinNamespace + ":" + cluster }
