package health

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/telemetry/telemetrytest"
)

func TestHealthMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	state := State{Available: 4, Unavailable: 3, Unreachable: 2, Unreported: 1, UnjoinedSelected: 5, EvictionsHeld: 6}
	h := NewMetrics(registry, func() State { return state })
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
