package inventory

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

// Reasons and action of the events of a profile that is not imported.
const (
	reasonNameTaken   = "NameTaken"
	reasonNameInvalid = "NameInvalid"
	actionImported    = "Imported"
)

// blockedEvent returns the event of a ClusterProfile whose name another cluster has.
func blockedEvent(cluster string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonNameTaken, actionImported,
		"The profile is not imported: ManagedCluster %s does not come from it and is left as it is. Give one of them another name", cluster)
}

// refusedEvent returns the event of a ClusterProfile whose name no cluster may have.
func refusedEvent(cluster, fault string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonNameInvalid, actionImported,
		"The profile is not imported: %q cannot be the name of a cluster, which is the name of a namespace too: %s", cluster, fault)
}
