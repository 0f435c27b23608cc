// Package telemetrytest reads metrics in tests.
package telemetrytest

import (
	"maps"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Read returns what a registry has, by name and labels, in their order; of histograms how much they have observed.
func Read(t testing.TB, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			parts := []string{family.GetName()}
			for _, label := range metric.GetLabel() {
				parts = append(parts, label.GetName()+"="+label.GetValue())
			}
			out[strings.Join(parts, " ")] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
				float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return out
}

// ReadNonzero returns what Read does, without the values 0.
func ReadNonzero(t testing.TB, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	out := Read(t, registry)
	maps.DeleteFunc(out, func(_ string, value float64) bool { return value == 0 })
	return out
}
