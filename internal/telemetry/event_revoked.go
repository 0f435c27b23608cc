package telemetry

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// RevokedEvent returns the event of a plan that takes clusters from a placement that Berth does not decide. The placement is nil where
// it is gone. Ok is false where no cluster left.
func RevokedEvent(key fleet.Key, placement *clusterv1beta1.Placement, p plan.Plan) (event Event, ok bool) {
	if len(p.Removed) == 0 {
		return Event{}, false
	}
	state := "is gone"
	switch {
	case placement != nil && !placement.DeletionTimestamp.IsZero():
		state = "is being deleted"
	case placement != nil:
		state = "is disabled"
	}
	return Event{
		Type: corev1.EventTypeWarning, Reason: ReasonRevoked, Action: ActionRevoked,
		Note: truncate(fmt.Sprintf("Placement %s in namespace %s %s. Its decisions lost clusters that the namespace may no longer reach%s",
			key.Name, key.Namespace, state, nameList(":", p.Removed, ""))),
	}, true
}

// OrphanedEvent returns the event of slices whose placement is gone, and that nothing will delete.
func OrphanedEvent(key fleet.Key, orphaned []*clusterv1beta1.PlacementDecision) Event {
	clusters := 0
	for _, slice := range orphaned {
		clusters += len(slice.Status.Decisions)
	}
	return Event{
		Type: corev1.EventTypeWarning, Reason: ReasonOrphaned, Action: ActionDecisionKept,
		Note: truncate(fmt.Sprintf("Placement %s in namespace %s is gone and left %d PlacementDecisions with %d clusters. Consumers still act on them. "+
			"Delete them, or create the placement again to have it take them over", key.Name, key.Namespace, len(orphaned), clusters)),
	}
}
