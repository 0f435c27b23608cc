package telemetry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/kube/telemetry/telemetrytest"
)

func TestHealthMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	state := telemetry.HealthState{Available: 4, Unavailable: 3, Unreachable: 2, Unreported: 1, UnjoinedSelected: 5, EvictionsHeld: 6}
	h := telemetry.NewHealth(registry, func() telemetry.HealthState { return state })
	h.AddTaints([]string{clusterv1.ManagedClusterTaintUnreachable}, nil)
	h.AddTaints([]string{clusterv1.ManagedClusterTaintUnavailable}, []string{clusterv1.ManagedClusterTaintUnreachable})
	want := map[string]float64{
		"berth_clusters health=available":                            4,
		"berth_clusters health=unavailable":                          3,
		"berth_clusters health=unreachable":                          2,
		"berth_clusters health=unreported":                           1,
		"berth_health_suspended":                                     0,
		"berth_health_manager_clock_suspected":                       0,
		"berth_health_taints_total change=added taint=unreachable":   1,
		"berth_health_taints_total change=added taint=unavailable":   1,
		"berth_health_taints_total change=removed taint=unreachable": 1,
		"berth_health_taints_total change=added taint=denied":        0,
		"berth_health_taints_total change=removed taint=denied":      0,
		"berth_health_unjoined_selected":                             5,
		"berth_clusters_evictions_held":                              6,
		"berth_health_taints_total change=removed taint=unavailable": 0,
	}
	if diff := cmp.Diff(want, telemetrytest.Read(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	state.Suspended, state.ClockSuspected = true, true
	for _, name := range []string{"berth_health_suspended", "berth_health_manager_clock_suspected"} {
		if got := telemetrytest.Read(t, registry)[name]; got != 1 {
			t.Errorf("with a suspended hub and a suspect clock, %s is %v", name, got)
		}
	}
}

func TestHealthEvents(t *testing.T) {
	for status, want := range map[metav1.ConditionStatus]telemetry.Event{
		"True":    {Type: corev1.EventTypeNormal, Reason: "Available", Action: "HealthReported", Note: "ManagedCluster c is available"},
		"False":   {Type: corev1.EventTypeWarning, Reason: "Unavailable", Action: "HealthReported", Note: "ManagedCluster c reports that it is not available"},
		"Unknown": {Type: corev1.EventTypeWarning, Reason: "AvailableUnknown", Action: "HealthReported", Note: "ManagedCluster c stopped updating its lease: its availability is unknown"},
		"":        {},
	} {
		got, ok := telemetry.HealthEvent("c", status)
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
		if diff := cmp.Diff(want, telemetry.SuspensionEvent(metav1.Condition{Status: status, Message: "why"})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", status, diff)
		}
	}
}

func TestClockEvents(t *testing.T) {
	for status, want := range map[metav1.ConditionStatus]telemetry.Event{
		"True":  {Type: corev1.EventTypeNormal, Reason: "ClockSynced", Action: "ClockCompared", Note: "The clock of ManagedCluster c agrees with the clock of the hub"},
		"False": {Type: corev1.EventTypeWarning, Reason: "ClockOutOfSync", Action: "ClockCompared", Note: "The clock of ManagedCluster c differs from the clock of the hub by more than five lease periods. Set the clock of the cluster; its conditions and taints stay as they are"},
	} {
		if diff := cmp.Diff(want, telemetry.ClusterClockEvent("c", status)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", status, diff)
		}
	}
	for direction, want := range map[int]telemetry.Event{
		0: {Type: corev1.EventTypeNormal, Reason: "ManagerClockTrusted", Action: "ClockCompared", Note: "The clocks of most ManagedClusters agree with the clock of the manager again"},
		1: {Type: corev1.EventTypeWarning, Reason: "ManagerClockSuspected", Action: "ClockCompared", Note: "The clocks of 9 of 10 ManagedClusters are ahead of the clock of the manager by more than five lease periods, so the clock of the manager " +
			"is probably wrong. No condition ClockSynced is written. Set the clock of the manager's host"},
		-1: {Type: corev1.EventTypeWarning, Reason: "ManagerClockSuspected", Action: "ClockCompared", Note: "The clocks of 9 of 10 ManagedClusters are behind the clock of the manager by more than five lease periods, so the clock of the manager " +
			"is probably wrong. No condition ClockSynced is written. Set the clock of the manager's host"},
	} {
		if diff := cmp.Diff(want, telemetry.ManagerClockEvent(direction, 9, 10)); diff != "" {
			t.Errorf("%d (-want +got):\n%s", direction, diff)
		}
	}
}
