package placement

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/engine/enginetest"
)

// nonzeroMetrics returns the nonzero values of some metrics in a registry. The value of a histogram is its sum.
func nonzeroMetrics(t *testing.T, registry *prometheus.Registry, names ...string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := []string{strings.TrimPrefix(family.GetName(), "berth_")}
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + metric.GetHistogram().GetSampleSum()
			for _, name := range names {
				if name == labels[0] && value != 0 {
					out[strings.Join(labels, " ")] = value
				}
			}
		}
	}
	return out
}

// TestMetrics follows a placement through a failed write, a conflict, a misconfiguration and its deletion. The latency counts from the
// first change.
func TestMetrics(t *testing.T) {
	h := newSimpleHub(t, 2)
	l := startLoop(t, h)
	registry := prometheus.NewRegistry()
	l.metrics = NewMetrics(registry)
	p := enginetest.Placement("ns", "p").Obj()
	check := func(when string, want map[string]float64) {
		t.Helper()
		got := nonzeroMetrics(t, registry, "event_to_decision_seconds", "decision_changes_total", "plan_writes_total", "placements")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: metrics (-want +got):\n%s", when, diff)
		}
	}
	h.putPlacement(p)
	for h.deliver(0, l.informed) || h.deliver(1, l.informed) || h.deliver(2, l.informed) {
	}
	h.fault = func() fault { return writeRefused }
	l.reconcileOne(keyOf(p))
	check("after a write that failed", map[string]float64{"plan_writes_total PlacementDecision failed create": 1})

	h.fault = func() fault { return writeOK }
	l.advance(3 * time.Second)
	l.drain()
	want := map[string]float64{
		"event_to_decision_seconds":                                  3,
		"decision_changes_total Placement":                           1,
		"plan_writes_total PlacementDecision failed create":          1,
		"plan_writes_total PlacementDecision stored create":          1,
		"plan_writes_total PlacementDecision stored update-metadata": 1,
		"plan_writes_total Placement stored update-status":           1,
		"placements AllDecisionsScheduled PlacementSatisfied":        1,
		"placements Succeedconfigured PlacementMisconfigured":        1,
	}
	check("after the retry", want)

	l.advance(time.Minute)
	h.putCluster(enginetest.Cluster("c02").In("sea").Obj())
	for h.deliver(0, l.informed) || h.deliver(1, l.informed) || h.deliver(2, l.informed) {
	}
	l.advance(2 * time.Second)
	l.drain()
	want["event_to_decision_seconds"] += 2
	want["decision_changes_total ManagedCluster"]++
	want["plan_writes_total PlacementDecision stored update-decisions"]++
	want["plan_writes_total Placement stored update-status"]++
	check("with another cluster", want)

	touched := h.stored.Placements[keyOf(p)].DeepCopy()
	touched.Spec.Predicates = enginetest.Placement("ns", "p").CEL("nonsense(").Obj().Spec.Predicates
	touched.Generation++
	h.putPlacement(touched)
	l.drain()
	want["plan_writes_total Placement stored update-status"]++
	delete(want, "placements Succeedconfigured PlacementMisconfigured")
	want["placements Misconfigured PlacementMisconfigured"] = 1
	check("while it is misconfigured", want)

	h.deletePlacement(touched)
	l.drain()
	delete(want, "placements AllDecisionsScheduled PlacementSatisfied")
	delete(want, "placements Misconfigured PlacementMisconfigured")
	want["plan_writes_total PlacementDecision stored delete"]++
	check("after its deletion", want)
}
