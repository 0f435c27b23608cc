package telemetry_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/telemetry"
)

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := telemetry.NewMetrics(registry)
	m.Evaluated(time.Millisecond, telemetry.Changed)
	m.Evaluated(time.Millisecond, telemetry.Unchanged)
	m.Evaluated(time.Millisecond, telemetry.Unchanged)
	m.Applied(&engine.Result{Ledger: ledger.Ledger{Releasing: []string{"c01", "c02"}}}, plan.Plan{
		Added: many(3), Removed: many(2),
		Writes: []plan.Write{{Verb: plan.Pledge}, {Verb: plan.Create}, {Verb: plan.Create}, {Verb: plan.Report}},
	}, time.Second)
	p, q := fleet.Key{Namespace: "ns", Name: "p"}, fleet.Key{Namespace: "ns", Name: "q"}
	for _, held := range []struct {
		key   fleet.Key
		count int
	}{{p, 3}, {q, 4}, {p, 5}, {q, 0}, {q, 0}} {
		m.Holding(held.key, held.count)
	}
	m.Conditions(enginetest.Placement("ns", "p").Obj(), &engine.Result{
		Decided:       true,
		Held:          engine.Condition{Type: clusterv1beta1.PlacementConditionHeld, Reason: "DisruptionBudgetSpent"},
		ScoresExpired: engine.Condition{Type: clusterv1beta1.PlacementConditionScoresExpired, Status: "False", Reason: "ScoresFresh"},
		Satisfied:     engine.Condition{Type: clusterv1beta1.PlacementConditionSatisfied, Reason: "AllDecisionsScheduled"},
		Misconfigured: engine.Condition{Type: clusterv1beta1.PlacementConditionMisconfigured, Reason: "Succeedconfigured"},
	})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range slices.Backward(metric.GetLabel()) {
				name += " " + label.GetValue()
			}
			got[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	want := map[string]float64{
		"scheduling_scheduling_duration_seconds placement_scheduling":                      3,
		"scheduling_bind_duration_seconds placement_scheduling":                            1,
		"berth_placement_evaluations_total changed":                                        1,
		"berth_placement_evaluations_total unchanged":                                      2,
		"berth_decisions_total added":                                                      3,
		"berth_decisions_total removed":                                                    2,
		"berth_held_removals":                                                              5,
		"berth_released_removals_total":                                                    1,
		"berth_placement_condition_changes_total PlacementHeld DisruptionBudgetSpent":      1,
		"berth_plan_writes_total pledge":                                                   1,
		"berth_plan_writes_total create":                                                   2,
		"berth_plan_writes_total report":                                                   1,
		"berth_placement_condition_changes_total PlacementSatisfied AllDecisionsScheduled": 1,
		"berth_placement_condition_changes_total PlacementMisconfigured Succeedconfigured": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
