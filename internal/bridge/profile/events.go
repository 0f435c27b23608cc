package profile

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

// Reasons and actions of the events of the controller profile.
const (
	// reasonManagedElsewhere is on a ClusterProfile or a Placement: an object that Berth would write belongs to another client.
	reasonManagedElsewhere = "ManagedElsewhere"
	// actionLeft goes with it.
	actionLeft = "Left"
	// reasonDecisionIncomplete is on a Placement: its decision stays incomplete, so that Berth does not publish it. actionDecisionKept goes
	// with it.
	reasonDecisionIncomplete = "DecisionIncomplete"
	actionDecisionKept       = "DecisionKept"
)

// profileBlockedEvent returns the event of a ClusterProfile of another cluster manager, which has the name of a cluster.
func profileBlockedEvent(manager, own string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonManagedElsewhere, actionLeft,
		"The cluster manager %s writes no profile of the cluster here: this profile belongs to %q and is left as it is. "+
			"Remove it, or remove the binding of the set in this namespace", own, manager)
}

// decisionBlockedEvent returns the event of a Placement whose decision another client has under the same name.
func decisionBlockedEvent(name string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonManagedElsewhere, actionLeft,
		"The decision is not written for readers of multicluster.x-k8s.io: PlacementDecision %s in this group belongs "+
			"to another client. Remove it", name)
}

// decisionIncompleteEvent returns the event of a Placement whose decision stays incomplete.
func decisionIncompleteEvent(obstacle string) telemetry.Event {
	return telemetry.NewEvent(corev1.EventTypeWarning, reasonDecisionIncomplete, actionDecisionKept,
		"The PlacementDecisions of multicluster.x-k8s.io stay as they are, because the decision of the placement is not complete. "+
			"Check that a manager with the controller placement runs, and that no other client writes PlacementDecisions of the placement: %s",
		obstacle)
}
