package telemetry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/telemetry"
)

func TestHealthMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	state := telemetry.HealthState{Available: 4, Unavailable: 3, Unreachable: 2, Unreported: 1}
	h := telemetry.NewHealth(registry, func() telemetry.HealthState { return state })
	h.Tainted([]string{clusterv1.ManagedClusterTaintUnreachable}, nil)
	h.Tainted([]string{clusterv1.ManagedClusterTaintUnavailable}, []string{clusterv1.ManagedClusterTaintUnreachable})
	want := map[string]float64{
		"berth_clusters health=available":                            4,
		"berth_clusters health=unavailable":                          3,
		"berth_clusters health=unreachable":                          2,
		"berth_clusters health=unreported":                           1,
		"berth_health_suspended":                                     0,
		"berth_health_taints_total change=added taint=unreachable":   1,
		"berth_health_taints_total change=added taint=unavailable":   1,
		"berth_health_taints_total change=removed taint=unreachable": 1,
		"berth_health_taints_total change=removed taint=unavailable": 0,
	}
	if diff := cmp.Diff(want, read(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	state.Suspended = true
	if got := read(t, registry)["berth_health_suspended"]; got != 1 {
		t.Errorf("while the hub is suspected, the gauge is %v", got)
	}
}

func TestHealthEvents(t *testing.T) {
	for status, want := range map[metav1.ConditionStatus]telemetry.Event{
		"True":    {Type: corev1.EventTypeNormal, Reason: "Available", Action: "HealthReported", Note: "ManagedCluster c is available"},
		"False":   {Type: corev1.EventTypeWarning, Reason: "Unavailable", Action: "HealthReported", Note: "ManagedCluster c reports that it is not available"},
		"Unknown": {Type: corev1.EventTypeWarning, Reason: "AvailableUnknown", Action: "HealthReported", Note: "ManagedCluster c has stopped updating its lease: nobody knows whether it is available"},
		"":        {},
	} {
		got, ok := telemetry.DescribeHealth("c", status)
		if diff := cmp.Diff(want, got); diff != "" || ok != (status != "") {
			t.Errorf("%q: worth telling %v (-want +got):\n%s", status, ok, diff)
		}
	}
}

func TestSuspicionEvents(t *testing.T) {
	for status, want := range map[metav1.ConditionStatus]telemetry.Event{
		"True":  {Type: corev1.EventTypeWarning, Reason: "HealthSuspended", Action: "HealthSuspended", Note: "why"},
		"False": {Type: corev1.EventTypeNormal, Reason: "HealthResumed", Action: "HealthResumed", Note: "why"},
	} {
		if diff := cmp.Diff(want, telemetry.DescribeSuspicion(metav1.Condition{Status: status, Message: "why"})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", status, diff)
		}
	}
}
