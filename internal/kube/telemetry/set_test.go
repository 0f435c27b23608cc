package telemetry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/kube/telemetry/telemetrytest"
)

// TestSet creates one metric of each type: the registry serves what is defined.
func TestSet(t *testing.T) {
	set, registry := &telemetry.Set{}, prometheus.NewRegistry()
	label := telemetry.Label{Name: "l", Values: []string{"v"}}
	set.Scraped("d", "D.", func(emit telemetry.Emit) { emit(4, "v") }, label)
	set.Histogram("c", "C.", []float64{1}).WithLabelValues().Observe(2)
	set.Gauge("b", "B.").WithLabelValues().Set(3)
	set.Counter("a", "A.", label).WithLabelValues("v").Inc()
	set.Register(registry)
	if diff := cmp.Diff(map[string]float64{"a l=v": 1, "b": 3, "c": 1, "d l=v": 4}, telemetrytest.Read(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	want := []telemetry.Definition{
		{Name: "a", Help: "A.", Type: "counter", Labels: []telemetry.Label{label}},
		{Name: "b", Help: "B.", Type: "gauge"},
		{Name: "c", Help: "C.", Type: "histogram"},
		{Name: "d", Help: "D.", Type: "gauge", Labels: []telemetry.Label{label}},
	}
	if diff := cmp.Diff(want, set.Definitions()); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
}
