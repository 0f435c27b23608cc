package acceptance

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/membership/registration"
)

// The reasons of the events of a cluster.
const (
	reasonClusterAccepted  = "ClusterAccepted"
	reasonAgentRevoked     = "AgentRevoked"
	reasonClusterDenied    = "ClusterDenied"
	reasonNamespaceForeign = "NamespaceForeign"
	reasonNameReserved     = "NameReserved"
	reasonNamespaceKept    = "NamespaceKept"
	reasonForcedRemoval    = "ForcedRemoval"
	reasonNamespaceDeleted = "NamespaceDeleted"
	reasonWorkHandedBack   = "WorkHandedBack"
)

// agentRevokedEvent returns the event of an agent whose service account was deleted.
func agentRevokedEvent(cluster string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonAgentRevoked, registration.ActionAcceptanceApplied,
		"The service account of the agent of ManagedCluster %s was deleted, so its agent has no access until the cluster is accepted again",
		cluster)
}

// acceptedEvent returns the event of an accepted cluster.
func acceptedEvent(cluster string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeNormal, reasonClusterAccepted, registration.ActionAcceptanceApplied,
		"ManagedCluster %s is accepted: its agent has the namespace %s and permissions", cluster, cluster)
}

// deniedEvent returns the event of a denied cluster.
func deniedEvent(cluster string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonClusterDenied, registration.ActionAcceptanceApplied,
		"ManagedCluster %s is denied: the permissions of its agent are withdrawn, its namespace and its works stay", cluster)
}

// namespaceForeignEvent returns the event of a cluster that cannot be accepted for its namespace.
func namespaceForeignEvent(cluster, message string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonNamespaceForeign, registration.ActionAcceptanceApplied,
		"ManagedCluster %s gets no namespace and no permissions: %s", cluster, message)
}

// nameReservedEvent returns the event of a cluster that cannot be accepted for its name.
func nameReservedEvent(cluster, message string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonNameReserved, registration.ActionAcceptanceApplied,
		"ManagedCluster %s gets no namespace and no permissions: %s", cluster, message)
}

// namespaceKeptEvent returns the event of a deleted cluster whose namespace stays.
func namespaceKeptEvent(cluster, reason string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonNamespaceKept, registration.ActionDeletionApplied,
		"ManagedCluster %s is deleted and its namespace stays: %s. Delete the namespace by hand when it is not needed", cluster, reason)
}

// forcedRemovalEvent returns the event of an object whose finalizers are removed because the agent is silent.
func forcedRemovalEvent(cluster, kind, name string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonForcedRemoval, registration.ActionDeletionApplied,
		"The finalizers of %s %s are removed: ManagedCluster %s is being deleted and its agent is silent. What it applied stays on the member",
		kind, name, cluster)
}

// namespaceTerminatingEvent returns the event of an accepted cluster whose namespace was deleted.
func namespaceTerminatingEvent(cluster string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonNamespaceDeleted, registration.ActionAcceptanceApplied,
		"The namespace %s is being deleted, although ManagedCluster %s is accepted: its works are handed back, and the namespace and the "+
			"permissions of the agent are made anew. To remove a cluster, delete the ManagedCluster instead", cluster, cluster)
}

// handedBackEvent returns the event of a work whose finalizer is removed because its namespace is being deleted.
func handedBackEvent(cluster, name string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonWorkHandedBack, registration.ActionAcceptanceApplied,
		"The finalizer of the agent is removed from ManifestWork %s: the namespace of ManagedCluster %s is being deleted, and the agent has no "+
			"permissions in it. What a berth-agent applied stays on the member", name, cluster)
}
