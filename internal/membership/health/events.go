package health

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

// The reasons and actions of the events about health, on a ManagedCluster and on the set `global`.
const (
	reasonAvailable             = "Available"
	reasonUnavailable           = "Unavailable"
	reasonAvailableUnknown      = "AvailableUnknown"
	reasonHealthSuspended       = "HealthSuspended"
	reasonHealthResumed         = "HealthResumed"
	reasonClockOutOfSync        = "ClockOutOfSync"
	reasonClockSynced           = "ClockSynced"
	reasonManagerClockSuspected = "ManagerClockSuspected"
	reasonManagerClockTrusted   = "ManagerClockTrusted"

	actionHealthReported  = "HealthReported"
	actionHealthSuspended = "HealthSuspended"
	actionHealthResumed   = "HealthResumed"
	actionClockCompared   = "ClockCompared"
)

// availabilityEvent returns the event of a change of a cluster's health. Ok is false if nothing is reported.
func availabilityEvent(cluster string, status metav1.ConditionStatus) (event telemetry.Event, ok bool) {
	event = telemetry.Event{Type: corev1.EventTypeWarning, Action: actionHealthReported}
	switch status {
	case metav1.ConditionTrue:
		event.Type, event.Reason, event.Note = corev1.EventTypeNormal, reasonAvailable, "is available"
	case metav1.ConditionFalse:
		event.Reason, event.Note = reasonUnavailable, "reports that it is not available"
	case metav1.ConditionUnknown:
		event.Reason, event.Note = reasonAvailableUnknown, "stopped updating its lease: its availability is unknown"
	default:
		return telemetry.Event{}, false
	}
	event.Note = fmt.Sprintf("ManagedCluster %s %s", cluster, event.Note)
	return event, true
}

// suspensionEvent returns the event of the condition HealthSuspended.
func suspensionEvent(condition metav1.Condition) telemetry.Event {
	if condition.Status == metav1.ConditionTrue {
		return telemetry.NewEvent(corev1.EventTypeWarning, reasonHealthSuspended, actionHealthSuspended, "%s", condition.Message)
	}
	return telemetry.NewEvent(corev1.EventTypeNormal, reasonHealthResumed, actionHealthResumed, "%s", condition.Message)
}

// clusterClockEvent returns the event of the condition ClockSynced of a cluster.
func clusterClockEvent(cluster string, status metav1.ConditionStatus) telemetry.Event {
	if status == metav1.ConditionFalse {
		return telemetry.Event{
			Type: corev1.EventTypeWarning, Reason: reasonClockOutOfSync, Action: actionClockCompared,
			Note: fmt.Sprintf("The clock of ManagedCluster %s differs from the clock of the hub by more than five lease periods. Set the clock of "+
				"the cluster; its conditions and taints stay as they are", cluster),
		}
	}
	return telemetry.Event{
		Type: corev1.EventTypeNormal, Reason: reasonClockSynced, Action: actionClockCompared,
		Note: fmt.Sprintf("The clock of ManagedCluster %s agrees with the clock of the hub", cluster),
	}
}

// managerClockEvent returns the event about the clock of the manager. direction is above 0 if the clocks of the skewed clusters are
// ahead, below 0 if they are behind, and 0 if most clocks agree again.
func managerClockEvent(direction, skewed, measured int) telemetry.Event {
	event := telemetry.Event{Type: corev1.EventTypeWarning, Reason: reasonManagerClockSuspected, Action: actionClockCompared}
	side := "behind"
	switch {
	case direction == 0:
		event.Type, event.Reason = corev1.EventTypeNormal, reasonManagerClockTrusted
		event.Note = "The clocks of most ManagedClusters agree with the clock of the manager again"
		return event
	case direction > 0:
		side = "ahead of"
	}
	event.Note = fmt.Sprintf("The clocks of %d of %d ManagedClusters are %s the clock of the manager by more than five lease periods, "+
		"so the clock of the manager "+
		"is probably wrong. No condition ClockSynced is written. Set the clock of the manager's host", skewed, measured, side)
	return event
}
