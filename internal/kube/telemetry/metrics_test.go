package telemetry_test

import (
	"maps"
	"slices"
	"strings"
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
	"github.com/berth-project/berth/internal/install/preflight"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/manager/guard"
)

// readMetrics returns what a registry holds by name and labels, in their order; of histograms how much they have observed.
func readMetrics(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetName() + "=" + label.GetValue()
			}
			out[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return out
}

// nonzeroMetrics reads the metrics and removes the zero values.
func nonzeroMetrics(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	out := readMetrics(t, registry)
	maps.DeleteFunc(out, func(_ string, value float64) bool { return value == 0 })
	return out
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := telemetry.NewMetrics(registry)
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
	stored := telemetry.Evaluation{
		Before: before, Result: result, Plan: p, Written: len(p.Writes), Deciding: time.Millisecond, Writing: time.Second, Latency: time.Second, Cause: "ManagedCluster",
	}
	conflict, failed := stored, stored
	conflict.Written, conflict.Failure = 2, telemetry.WriteConflict
	failed.Written, failed.Failure = 0, telemetry.WriteFailed
	for _, e := range []telemetry.Evaluation{
		stored, conflict, failed, {Before: before, Result: result, Deciding: time.Millisecond, Latency: -1},
	} {
		m.Record(e)
	}
	for _, cause := range []string{"Time", "Moon"} {
		cluster := plan.Plan{Added: manyNames(1), Writes: []plan.Write{{Verb: plan.UpdateDecisions}}}
		m.Record(telemetry.Evaluation{Before: before, Result: result, Plan: cluster, Written: 1, Latency: -1, Cause: cause})
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
	if diff := cmp.Diff(want, nonzeroMetrics(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// TestPlacementStates adds, changes and removes placements. A removed placement must leave nothing.
func TestPlacementStates(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := telemetry.NewMetrics(registry)
	conditions := func(pairs ...string) []metav1.Condition {
		var out []metav1.Condition
		for at := 0; at < len(pairs); at += 2 {
			out = append(out, metav1.Condition{Type: pairs[at], Reason: pairs[at+1]})
		}
		return out
	}
	p, q := fleet.Key{Namespace: "ns", Name: "p"}, fleet.Key{Namespace: "ns", Name: "q"}
	const satisfied, wrong = "berth_placements reason=AllDecisionsScheduled type=PlacementSatisfied", "berth_placements reason=Misconfigured type=PlacementMisconfigured"
	const wrongHere = "berth_namespace_placements namespace=ns reason=Misconfigured type=PlacementMisconfigured"
	for _, step := range []struct {
		what string
		do   func()
		want map[string]float64
	}{
		{"one comes", func() { m.SetState(p, 3, conditions("PlacementSatisfied", "AllDecisionsScheduled")) }, map[string]float64{"berth_held_removals": 3, satisfied: 1}},
		{"another comes", func() {
			m.SetState(q, 4, conditions("PlacementSatisfied", "AllDecisionsScheduled", "PlacementMisconfigured", "Misconfigured"))
		}, map[string]float64{"berth_held_removals": 7, satisfied: 2, wrong: 1, wrongHere: 1}},
		{"the first stays", func() { m.SetState(p, 3, conditions("PlacementSatisfied", "AllDecisionsScheduled")) }, map[string]float64{"berth_held_removals": 7, satisfied: 2, wrong: 1, wrongHere: 1}},
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
		if diff := cmp.Diff(step.want, nonzeroMetrics(t, registry)); diff != "" {
			t.Errorf("%s: metrics (-want +got):\n%s", step.what, diff)
		}
	}
}

func TestCertificateMetric(t *testing.T) {
	registry := prometheus.NewRegistry()
	var end time.Time
	telemetry.NewCertificate(registry, func() (time.Time, bool) { return end, !end.IsZero() })
	if got := readMetrics(t, registry); len(got) > 0 {
		t.Errorf("metrics %v, want none before there is a certificate", got)
	}
	end = time.Unix(1_800_000_000, 0)
	if diff := cmp.Diff(map[string]float64{"berth_certificate_end_timestamp_seconds": 1_800_000_000}, readMetrics(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestGuardMetric(t *testing.T) {
	registry := prometheus.NewRegistry()
	telemetry.NewGuard(registry, func() []guard.Unguarded { return []guard.Unguarded{{Role: "berth:placement:editor"}} })
	want := map[string]float64{
		"berth_role_unguarded role=berth:managedcluster:creator": 0, "berth_role_unguarded role=berth:managedclusterset:admin:*": 0,
		"berth_role_unguarded role=berth:managedclusterset:binder:*": 0, "berth_role_unguarded role=berth:placement:editor": 1,
		"berth_role_unguarded role=berth:agent-account":   0,
		"berth_role_unguarded role=berth:delivery:editor": 0, "berth_role_unguarded role=berth:namespace-inventory": 0,
		"berth_role_unguarded role=berth:rollout:operator":                   0,
		"berth_role_unguarded role=open-cluster-management:managedcluster:*": 0,
	}
	if diff := cmp.Diff(want, readMetrics(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// TestDefinitions compares the reference with the served metrics: names, types, labels, and the label values. A label
// value whose series exists only after an event is left out.
func TestDefinitions(t *testing.T) {
	registry := prometheus.NewRegistry()
	problems := telemetry.NewMetrics(registry)
	for _, metric := range telemetry.Definitions() {
		if metric.Name != "berth_namespace_placements" {
			continue
		}
		for _, reason := range metric.Labels[2].Values {
			for _, condition := range metric.Labels[1].Values {
				problems.SetState(fleet.Key{Namespace: "ns", Name: condition + reason}, 0, []metav1.Condition{{Type: condition, Reason: reason}})
			}
		}
	}
	telemetry.NewHealth(registry, func() telemetry.HealthState { return telemetry.HealthState{} })
	telemetry.NewCertificate(registry, func() (time.Time, bool) { return time.Time{}, true })
	telemetry.NewGuard(registry, func() []guard.Unguarded { return nil })
	telemetry.NewPreflight(registry, func() preflight.Report { return preflight.Report{} })
	telemetry.NewCertificateRequests(registry, func() int { return 0 })
	telemetry.NewDeliveries(registry, func() telemetry.DeliveryState { return telemetry.DeliveryState{} })
	telemetry.NewAddOns(registry, func() telemetry.RolloutState { return telemetry.RolloutState{} })
	telemetry.RegisterProbes(registry, func() map[string]int { return map[string]int{"Probing": 1} })
	telemetry.NewScores(registry, []string{"cpu"})
	telemetry.NewProfiles(registry, func() int { return 1 })
	telemetry.RegisterInventory(registry, func() map[string]int { return map[string]int{telemetry.InventoryImported: 1} })
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]string{}
	values := map[string][]string{}
	for _, family := range families {
		var names []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			names = append(names, label.GetName())
		}
		served[family.GetName()] = strings.ToLower(family.GetType().String()) + ": " + family.GetHelp() + strings.Join(names, ",")
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				of := family.GetName() + " " + label.GetName()
				values[of] = append(values[of], label.GetValue())
			}
		}
	}
	defined := map[string]string{}
	for _, d := range telemetry.Definitions() {
		var names []string
		for _, label := range d.Labels {
			names = append(names, label.Name)
			if label.Any != "" {
				continue
			}
			of := d.Name + " " + label.Name
			got := slices.Compact(slices.Sorted(slices.Values(values[of])))
			if diff := cmp.Diff(slices.Sorted(slices.Values(label.Values)), got); diff != "" {
				t.Errorf("values of %s (-defined +served):\n%s", of, diff)
			}
		}
		slices.Sort(names)
		defined[d.Name] = d.Type + ": " + d.Help + strings.Join(names, ",")
	}
	if diff := cmp.Diff(served, defined); diff != "" {
		t.Errorf("metrics (-served +defined):\n%s", diff)
	}
}
