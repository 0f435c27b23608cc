package health

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

func TestHealthEvents(t *testing.T) {
	for status, want := range map[metav1.ConditionStatus]telemetry.Event{
		"True": {Type: corev1.EventTypeNormal, Reason: "Available", Action: "HealthReported", Note: "ManagedCluster c is available"},
		"False": {
			Type: corev1.EventTypeWarning, Reason: "Unavailable", Action: "HealthReported",
			Note: "ManagedCluster c reports that it is not available",
		},
		"Unknown": {
			Type: corev1.EventTypeWarning, Reason: "AvailableUnknown", Action: "HealthReported",
			Note: "ManagedCluster c stopped updating its lease: its availability is unknown",
		},
		"": {},
	} {
		got, ok := availabilityEvent("c", status)
		if diff := cmp.Diff(want, got); diff != "" || ok != (status != "") {
			t.Errorf("%q: worth telling %v (-want +got):\n%s", status, ok, diff)
		}
	}
}

func TestSuspensionEvents(t *testing.T) {
	for status, want := range map[metav1.ConditionStatus]telemetry.Event{
		"True":  {Type: corev1.EventTypeWarning, Reason: "HealthSuspended", Action: "HealthSuspended", Note: "why"},
		"False": {Type: corev1.EventTypeNormal, Reason: "HealthResumed", Action: "HealthResumed", Note: "why"},
	} {
		if diff := cmp.Diff(want, suspensionEvent(metav1.Condition{Status: status, Message: "why"})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", status, diff)
		}
	}
}

func TestClockEvents(t *testing.T) {
	for status, want := range map[metav1.ConditionStatus]telemetry.Event{
		"True": {
			Type: corev1.EventTypeNormal, Reason: "ClockSynced", Action: "ClockCompared",
			Note: "The clock of ManagedCluster c agrees with the clock of the hub",
		},
		"False": {
			Type: corev1.EventTypeWarning, Reason: "ClockOutOfSync", Action: "ClockCompared",
			Note: "The clock of ManagedCluster c differs from the clock of the hub by more than five lease periods. Set the clock of the cluster; " +
				"its conditions and taints stay as they are",
		},
	} {
		if diff := cmp.Diff(want, clusterClockEvent("c", status)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", status, diff)
		}
	}
	for direction, want := range map[int]telemetry.Event{
		0: {
			Type: corev1.EventTypeNormal, Reason: "ManagerClockTrusted", Action: "ClockCompared",
			Note: "The clocks of most ManagedClusters agree with the clock of the manager again",
		},
		1: {
			Type: corev1.EventTypeWarning, Reason: "ManagerClockSuspected", Action: "ClockCompared",
			Note: "The clocks of 9 of 10 ManagedClusters are ahead of the clock of the manager by more than five lease periods, " +
				"so the clock of the manager " +
				"is probably wrong. No condition ClockSynced is written. Set the clock of the manager's host",
		},
		-1: {
			Type: corev1.EventTypeWarning, Reason: "ManagerClockSuspected", Action: "ClockCompared",
			Note: "The clocks of 9 of 10 ManagedClusters are behind the clock of the manager by more than five lease periods, " +
				"so the clock of the manager " +
				"is probably wrong. No condition ClockSynced is written. Set the clock of the manager's host",
		},
	} {
		if diff := cmp.Diff(want, managerClockEvent(direction, 9, 10)); diff != "" {
			t.Errorf("%d (-want +got):\n%s", direction, diff)
		}
	}
}
