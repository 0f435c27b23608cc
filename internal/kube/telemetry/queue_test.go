package telemetry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

// TestQueuesOfAnotherRegistry has the same metrics in both registries. The queue metrics of the served registry are
// empty, as if another library measured the queues.
func TestQueuesOfAnotherRegistry(t *testing.T) {
	served, other := prometheus.NewRegistry(), prometheus.NewRegistry()
	for registry, value := range map[*prometheus.Registry]float64{served: 0, other: 7} {
		depth := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_depth", Help: "Depth."}, []string{"name"})
		process := prometheus.NewGauge(prometheus.GaugeOpts{Name: "process_open_fds", Help: "Files."})
		registry.MustRegister(depth, process)
		process.Set(value)
		if registry == other {
			depth.WithLabelValues("placement").Set(value)
		}
	}
	both := telemetry.NewRegistry(served, other)
	both.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "late", Help: "Late."}))
	families, err := both.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			got[family.GetName()] += metric.GetGauge().GetValue()
		}
	}
	if diff := cmp.Diff(map[string]float64{"workqueue_depth": 7, "process_open_fds": 0, "late": 0}, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
