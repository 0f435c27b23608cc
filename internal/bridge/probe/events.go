package probe

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

// The reason and the action of the event of a Secret that is not used.
const (
	reasonClusterMissing = "ClusterMissing"
	actionProbed         = "Probed"
)

// clusterMissingEvent returns the event of a Secret of a probe whose cluster does not exist.
func clusterMissingEvent(secret, cluster string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonClusterMissing, actionProbed,
		"Secret %s is not used: ManagedCluster %s does not exist. Create and accept it, or correct the label of the Secret", secret, cluster)
}
