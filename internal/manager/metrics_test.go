package manager

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/addon"
	"github.com/berth-project/berth/internal/bridge/inventory"
	"github.com/berth-project/berth/internal/bridge/probe"
	"github.com/berth-project/berth/internal/bridge/profile"
	"github.com/berth-project/berth/internal/bridge/score"
	"github.com/berth-project/berth/internal/delivery"
	"github.com/berth-project/berth/internal/install/preflight"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/kube/telemetry/telemetrytest"
	"github.com/berth-project/berth/internal/manager/guard"
	"github.com/berth-project/berth/internal/membership/csr"
	"github.com/berth-project/berth/internal/membership/health"
	"github.com/berth-project/berth/internal/membership/set"
	"github.com/berth-project/berth/internal/placement"
)

func TestCertificateMetric(t *testing.T) {
	registry := prometheus.NewRegistry()
	var end time.Time
	registerCertificateMetric(registry, func() (time.Time, bool) { return end, !end.IsZero() })
	if got := telemetrytest.Read(t, registry); len(got) > 0 {
		t.Errorf("metrics %v, want none before there is a certificate", got)
	}
	end = time.Unix(1_800_000_000, 0)
	if diff := cmp.Diff(map[string]float64{"berth_certificate_end_timestamp_seconds": 1_800_000_000}, telemetrytest.Read(t, registry)); diff !=
		"" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestGuardMetric(t *testing.T) {
	registry := prometheus.NewRegistry()
	registerGuardMetric(registry, func() []guard.Unguarded { return []guard.Unguarded{{Role: "berth:placement:editor"}} })
	want := map[string]float64{
		"berth_role_unguarded role=berth:managedcluster:creator": 0, "berth_role_unguarded role=berth:managedclusterset:admin:*": 0,
		"berth_role_unguarded role=berth:managedclusterset:binder:*": 0, "berth_role_unguarded role=berth:placement:editor": 1,
		"berth_role_unguarded role=berth:agent-account":   0,
		"berth_role_unguarded role=berth:delivery:editor": 0, "berth_role_unguarded role=berth:namespace-inventory": 0,
		"berth_role_unguarded role=berth:rollout:operator":                   0,
		"berth_role_unguarded role=open-cluster-management:managedcluster:*": 0,
	}
	if diff := cmp.Diff(want, telemetrytest.Read(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// TestDefinitions compares the reference with the served metrics: names, types, labels, and the label values. A label
// value whose series exists only after an event is left out.
func TestDefinitions(t *testing.T) {
	registry := prometheus.NewRegistry()
	problems := placement.NewMetrics(registry)
	for _, metric := range MetricDefinitions() {
		if metric.Name != "berth_namespace_placements" {
			continue
		}
		for _, reason := range metric.Labels[2].Values {
			for _, condition := range metric.Labels[1].Values {
				problems.SetState(fleet.Key{Namespace: "ns", Name: condition + reason}, 0, []metav1.Condition{{Type: condition, Reason: reason}})
			}
		}
	}
	health.NewMetrics(registry, func() health.State { return health.State{} })
	registerCertificateMetric(registry, func() (time.Time, bool) { return time.Time{}, true })
	registerGuardMetric(registry, func() []guard.Unguarded { return nil })
	registerPreflightMetric(registry, func() preflight.Report { return preflight.Report{} })
	placement.RegisterHolds(registry, func() int { return 0 }, func() int { return 0 })
	set.RegisterMetrics(registry, func() int { return 0 })
	csr.NewMetrics(registry, func() int { return 0 })
	delivery.NewMetrics(registry, func() delivery.State { return delivery.State{} })
	addon.NewMetrics(registry, func() telemetry.RolloutState { return telemetry.RolloutState{} })
	probe.RegisterMetrics(registry, func() map[string]int { return map[string]int{"Probing": 1} })
	score.NewMetrics(registry, []string{"cpu"})
	profile.NewMetrics(registry, func() int { return 1 })
	inventory.RegisterMetrics(registry, func() map[string]int { return map[string]int{"imported": 1} })
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
	for _, d := range MetricDefinitions() {
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
