// Package registration owns the registration state of a ManagedCluster: whether an agent has reported it, whether it is denied,
// and whether the hub simulates it. The health controller and the webhook share these rules.
//
// It writes nothing. The invariant: a condition that the hub wrote is never taken for the report of an agent.
package registration

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// SimulationRequested returns whether a hub that simulates clusters simulates this one.
func SimulationRequested(cluster *clusterv1.ManagedCluster) bool {
	return cluster.Annotations[clusterv1.SimulatedAnnotationKey] == "true"
}

// Imported returns whether a cluster follows a ClusterProfile of another cluster manager.
func Imported(cluster *clusterv1.ManagedCluster) bool {
	return cluster.Annotations[clusterv1.InventoryProfileAnnotationKey] != ""
}

// FollowsProfile returns whether a cluster is imported from the profile of a key, NAMESPACE/NAME, and of a cluster manager. Replaced is set
// where it was imported from a profile of this key and of another manager: the profile may be of another cluster. A cluster without a
// recorded manager follows any.
func FollowsProfile(cluster *clusterv1.ManagedCluster, key, manager string) (follows, replaced bool) {
	if cluster.Annotations[clusterv1.InventoryProfileAnnotationKey] != key {
		return false, false
	}
	recorded := cluster.Annotations[clusterv1.InventoryManagerAnnotationKey]
	replaced = recorded != "" && recorded != manager
	return !replaced, replaced
}

// ImportChanged returns whether two states of a cluster are imported from different profiles or cluster managers, or one of them from none.
func ImportChanged(before, after *clusterv1.ManagedCluster) bool {
	a, b := before.Annotations, after.Annotations
	return before.UID != after.UID || a[clusterv1.InventoryProfileAnnotationKey] != b[clusterv1.InventoryProfileAnnotationKey] ||
		a[clusterv1.InventoryManagerAnnotationKey] != b[clusterv1.InventoryManagerAnnotationKey]
}

// Condition returns a condition of a cluster; nil if it is missing. A condition of a simulation that has ended does not
// count.
func Condition(cluster *clusterv1.ManagedCluster, kind string) *metav1.Condition {
	found := meta.FindStatusCondition(cluster.Status.Conditions, kind)
	if found == nil || Simulated(*found) && !SimulationRequested(cluster) {
		return nil
	}
	return found
}

// Simulated returns whether a condition was written for a simulated cluster.
func Simulated(condition metav1.Condition) bool {
	return condition.Reason == clusterv1.ReasonSimulated
}

// Reported returns whether an agent has ever reported a cluster: it wrote the condition joined or available. The condition
// that the hub writes for a silent cluster does not count.
func Reported(cluster *clusterv1.ManagedCluster) bool {
	joined := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionJoined)
	if joined != nil && !Simulated(*joined) {
		return true
	}
	available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	return available != nil && !Simulated(*available) &&
		(available.Status != metav1.ConditionUnknown || available.Reason != clusterv1.ReasonManagedClusterLeaseUpdateStopped)
}

// Denied returns whether a cluster is denied: it was accepted or has reported, and is not accepted now. A cluster that waits
// for its first acceptance is not denied.
func Denied(cluster *clusterv1.ManagedCluster) bool {
	if cluster.Spec.HubAcceptsClient {
		return false
	}
	return Reported(cluster) || Condition(cluster, clusterv1.ManagedClusterConditionHubAccepted) != nil
}

// IsHubTaint returns whether a taint is the taint of a key that the hub adds and removes: without a value, and with the
// effect NoSelect.
func IsHubTaint(taint clusterv1.Taint, key string) bool {
	return taint.Key == key && taint.Value == "" && taint.Effect == clusterv1.TaintEffectNoSelect
}
