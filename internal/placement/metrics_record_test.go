package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/kube/telemetry/telemetrytest"
)

func TestRecordedMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	p := plan.Plan{
		Added: manyNames(3), Removed: manyNames(2), Regrouped: manyNames(1),
		Writes: []plan.Write{{Verb: plan.UpdateBudget}, {Verb: plan.Create}, {Verb: plan.Create}, {Verb: plan.UpdateStatus}},
	}
	before := enginetest.Placement("ns", "p").Obj()
	p.Writes[3].Placement = before
	result := &engine.Result{
		Decided:       true,
		Ledger:        ledger.Ledger{Releasing: []string{"c01", "c02"}},
		Held:          engine.Condition{Type: clusterv1beta1.PlacementConditionHeld, Reason: "DisruptionBudgetSpent"},
		ScoresExpired: engine.Condition{Type: clusterv1beta1.PlacementConditionScoresExpired, Status: "False", Reason: "ScoresFresh"},
		Satisfied:     engine.Condition{Type: clusterv1beta1.PlacementConditionSatisfied, Reason: "AllDecisionsScheduled"},
		Misconfigured: engine.Condition{Type: clusterv1beta1.PlacementConditionMisconfigured, Reason: "Succeedconfigured"},
	}
	stored := Evaluation{
		Before: before, Result: result, Plan: p, Written: len(p.Writes), Deciding: time.Millisecond, Writing: time.Second, Latency: time.Second,
		Cause: "ManagedCluster",
	}
	conflict, failed := stored, stored
	conflict.Written, conflict.Failure = 2, WriteConflict
	failed.Written, failed.Failure = 0, WriteFailed
	for _, e := range []Evaluation{
		stored, conflict, failed, {Before: before, Result: result, Deciding: time.Millisecond, Latency: -1},
	} {
		m.Record(e)
	}
	for _, cause := range []string{"Time", "Moon"} {
		cluster := plan.Plan{Added: manyNames(1), Writes: []plan.Write{{Verb: plan.UpdateDecisions}}}
		m.Record(Evaluation{Before: before, Result: result, Plan: cluster, Written: 1, Latency: -1, Cause: cause})
	}
	want := map[string]float64{
		"scheduling_scheduling_duration_seconds name=placement_scheduling":                             6,
		"scheduling_bind_duration_seconds name=placement_scheduling":                                   3,
		"berth_stage_duration_seconds stage=decide":                                                    6,
		"berth_stage_duration_seconds stage=plan":                                                      6,
		"berth_stage_duration_seconds stage=write":                                                     5,
		"berth_event_to_decision_seconds":                                                              1,
		"berth_placement_evaluations_total outcome=changed":                                            3,
		"berth_placement_evaluations_total outcome=failed":                                             2,
		"berth_placement_evaluations_total outcome=unchanged":                                          1,
		"berth_decisions_total change=added":                                                           5,
		"berth_decisions_total change=removed":                                                         2,
		"berth_decisions_total change=regrouped":                                                       1,
		"berth_decision_changes_total cause=ManagedCluster":                                            1,
		"berth_decision_changes_total cause=Time":                                                      1,
		"berth_decision_changes_total cause=Other":                                                     1,
		"berth_released_removals_total":                                                                1,
		"berth_plan_writes_total kind=Placement result=stored verb=update-budget":                      2,
		"berth_plan_writes_total kind=Placement result=failed verb=update-budget":                      1,
		"berth_plan_writes_total kind=PlacementDecision result=stored verb=create":                     3,
		"berth_plan_writes_total kind=PlacementDecision result=stored verb=update-decisions":           2,
		"berth_plan_writes_total kind=PlacementDecision result=conflict verb=create":                   1,
		"berth_plan_writes_total kind=Placement result=stored verb=update-status":                      1,
		"berth_placement_condition_changes_total reason=DisruptionBudgetSpent type=PlacementHeld":      3,
		"berth_placement_condition_changes_total reason=AllDecisionsScheduled type=PlacementSatisfied": 3,
		"berth_placement_condition_changes_total reason=Succeedconfigured type=PlacementMisconfigured": 3,
	}
	if diff := cmp.Diff(want, telemetrytest.ReadNonzero(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// TestPlacementStates adds, changes and removes placements. A removed placement must leave nothing.
func TestPlacementStates(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	conditions := func(pairs ...string) []metav1.Condition {
		var out []metav1.Condition
		for at := 0; at < len(pairs); at += 2 {
			out = append(out, metav1.Condition{Type: pairs[at], Reason: pairs[at+1]})
		}
		return out
	}
	p, q := fleet.Key{Namespace: "ns", Name: "p"}, fleet.Key{Namespace: "ns", Name: "q"}
	const satisfied, wrong = "berth_placements reason=AllDecisionsScheduled type=PlacementSatisfied",
		"berth_placements reason=Misconfigured type=PlacementMisconfigured"
	const wrongHere = "berth_namespace_placements namespace=ns reason=Misconfigured type=PlacementMisconfigured"
	for _, step := range []struct {
		what string
		do   func()
		want map[string]float64
	}{
		{
			"one comes", func() { m.SetState(p, 3, conditions("PlacementSatisfied", "AllDecisionsScheduled")) },
			map[string]float64{"berth_held_removals": 3, satisfied: 1},
		},
		{"another comes", func() {
			m.SetState(q, 4, conditions("PlacementSatisfied", "AllDecisionsScheduled", "PlacementMisconfigured", "Misconfigured"))
		}, map[string]float64{"berth_held_removals": 7, satisfied: 2, wrong: 1, wrongHere: 1}},
		{
			"the first stays", func() { m.SetState(p, 3, conditions("PlacementSatisfied", "AllDecisionsScheduled")) },
			map[string]float64{"berth_held_removals": 7, satisfied: 2, wrong: 1, wrongHere: 1},
		},
		{"another client writes conditions", func() {
			m.SetState(p, 5, conditions("PlacementSatisfied", "Perhaps", "Liked", "AllDecisionsScheduled"))
		}, map[string]float64{
			"berth_held_removals": 9, satisfied: 1, wrong: 1, wrongHere: 1,
		}},
		{"the other goes", func() { m.Remove(q) }, map[string]float64{"berth_held_removals": 5}},
		{"it is still gone", func() { m.Remove(q) }, map[string]float64{"berth_held_removals": 5}},
		{"the first goes", func() { m.Remove(p) }, map[string]float64{}},
	} {
		step.do()
		if diff := cmp.Diff(step.want, telemetrytest.ReadNonzero(t, registry)); diff != "" {
			t.Errorf("%s: metrics (-want +got):\n%s", step.what, diff)
		}
	}
}
