// Package registration reads from a ManagedCluster how far it is registered: whether an agent has reported it, whether it is
// denied, and whether the hub simulates it.
//
// It owns these questions for the health controller and the webhook, which must answer them alike. It refuses to write. The
// invariant: what the hub itself writes about a cluster is never taken for the report of an agent.
package registration

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// SimulationRequested tells whether a cluster is to be simulated where the hub simulates clusters.
func SimulationRequested(cluster *clusterv1.ManagedCluster) bool {
	return cluster.Annotations[clusterv1.SimulatedAnnotationKey] == "true"
}

// Condition returns a condition of a cluster; nil where there is none. What is left of a simulation that has ended is none.
func Condition(cluster *clusterv1.ManagedCluster, kind string) *metav1.Condition {
	found := meta.FindStatusCondition(cluster.Status.Conditions, kind)
	if found == nil || Simulated(*found) && !SimulationRequested(cluster) {
		return nil
	}
	return found
}

// Simulated tells whether a condition was written for a cluster that is simulated.
func Simulated(condition metav1.Condition) bool {
	return condition.Reason == clusterv1.ReasonSimulated
}

// Reported tells whether an agent has ever reported a cluster: it wrote the condition joined or available. That the hub
// reports a silence is no report of the agent.
func Reported(cluster *clusterv1.ManagedCluster) bool {
	joined := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionJoined)
	if joined != nil && !Simulated(*joined) {
		return true
	}
	available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	return available != nil && !Simulated(*available) &&
		(available.Status != metav1.ConditionUnknown || available.Reason != clusterv1.ReasonManagedClusterLeaseUpdateStopped)
}

// Denied tells whether a cluster is denied: it was accepted or has reported, and is not accepted now. One that waits to be
// accepted for the first time is not denied.
func Denied(cluster *clusterv1.ManagedCluster) bool {
	if cluster.Spec.HubAcceptsClient {
		return false
	}
	return Reported(cluster) || Condition(cluster, clusterv1.ManagedClusterConditionHubAccepted) != nil
}

// IsHubTaint tells whether a taint is the one of a key that the hub puts on and takes away: without a value, and with the
// effect NoSelect.
func IsHubTaint(taint clusterv1.Taint, key string) bool {
	return taint.Key == key && taint.Value == "" && taint.Effect == clusterv1.TaintEffectNoSelect
}
