package telemetry

import (
	corev1 "k8s.io/api/core/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// RevokedEvent returns the event of a plan that revokes clusters of a placement that Berth does not decide. The placement is nil if it
// is gone. Ok is false if no cluster was removed.
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
	return NewEvent(corev1.EventTypeWarning, ReasonRevoked, ActionRevoked,
		"Placement %s in namespace %s %s. Berth removed clusters from its decisions that the namespace may no longer reach%s",
		key.Name, key.Namespace, state, nameList(":", p.Removed, "")), true
}

// OrphanedEvent returns the event of orphaned slices: their placement is gone, and the garbage collector does not delete them.
func OrphanedEvent(key fleet.Key, orphaned []*clusterv1beta1.PlacementDecision) Event {
	clusters := 0
	for _, slice := range orphaned {
		clusters += len(slice.Status.Decisions)
	}
	return NewEvent(corev1.EventTypeWarning, ReasonOrphaned, ActionDecisionKept,
		"Placement %s in namespace %s is gone, but %d of its PlacementDecisions with %d clusters remain. Consumers still use them. "+
			"Delete them, or create the placement again: it takes them over", key.Name, key.Namespace, len(orphaned), clusters)
}
