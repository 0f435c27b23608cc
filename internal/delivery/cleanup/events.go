package cleanup

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/membership/registration"
)

// reasonWorkReleased is the reason of the event of a work that goes without its agent.
const reasonWorkReleased = "WorkReleased"

// releasedEvent returns the event of a work that goes without its agent, because its cluster is gone.
func releasedEvent(cluster, work string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonWorkReleased, registration.ActionDeletionApplied,
		"ManifestWork %s is deleted without its agent, because ManagedCluster %s does not exist. What it applied may be left on the member; "+
			"if the member joins again, its agent evicts it", work, cluster)
}
