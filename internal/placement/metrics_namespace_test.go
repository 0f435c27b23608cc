package placement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/internal/kube/telemetry/telemetrytest"
)

// problemSeries returns the series of placements with a problem, by namespace.
func problemSeries(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for name, value := range telemetrytest.Read(t, registry) {
		if series, ok := strings.CutPrefix(name, "berth_namespace_placements "); ok {
			out[series] = value
		}
	}
	return out
}

// TestNamespacesOfPlacements: a namespace has a series for each problem that a placement in it has, and none once no
// placement has it.
func TestNamespacesOfPlacements(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	none := metav1.Condition{Type: "PlacementSatisfied", Reason: "NoManagedClusterMatched"}
	held := metav1.Condition{Type: "PlacementHeld", Reason: "DisruptionBudgetSpent"}
	good := metav1.Condition{Type: "PlacementSatisfied", Reason: "AllDecisionsScheduled"}
	a, b, c := fleet.Key{Namespace: "shop", Name: "a"}, fleet.Key{Namespace: "shop", Name: "b"}, fleet.Key{Namespace: "bank", Name: "c"}
	m.SetState(a, 0, []metav1.Condition{none})
	m.SetState(b, 2, []metav1.Condition{none, held})
	m.SetState(c, 0, []metav1.Condition{good})
	if diff := cmp.Diff(map[string]float64{
		"namespace=shop reason=NoManagedClusterMatched type=PlacementSatisfied": 2,
		"namespace=shop reason=DisruptionBudgetSpent type=PlacementHeld":        1,
	}, problemSeries(t, registry)); diff != "" {
		t.Errorf("two placements of one namespace (-want +got):\n%s", diff)
	}
	m.SetState(a, 0, []metav1.Condition{good})
	m.Remove(b)
	if got := problemSeries(t, registry); len(got) != 0 {
		t.Errorf("series %v, want none once no placement has a problem", got)
	}
}

// TestNamespacesOfPlacementsAreBounded: the namespaces with the most placements have series of their own, all others are
// added up.
func TestNamespacesOfPlacementsAreBounded(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	wrong := []metav1.Condition{{Type: "PlacementMisconfigured", Reason: "Misconfigured"}}
	for number := range 1005 {
		m.SetState(fleet.Key{Namespace: fmt.Sprintf("ns-%04d", number), Name: "p"}, 0, wrong)
	}
	m.SetState(fleet.Key{Namespace: "zoo", Name: "p"}, 0, wrong)
	m.SetState(fleet.Key{Namespace: "zoo", Name: "q"}, 0, wrong)
	got := problemSeries(t, registry)
	if len(got) != 1001 {
		t.Fatalf("%d series, want those of 1000 namespaces and one", len(got))
	}
	sum := 0.0
	for _, value := range got {
		sum += value
	}
	const rest = " reason=Misconfigured type=PlacementMisconfigured"
	if other, most := got["namespace="+telemetry.OtherNamespaces+rest], got["namespace=zoo"+rest]; other != 6 || most != 2 || sum != 1007 {
		t.Errorf("others %v, the largest %v, all %v, want 6, 2 and 1007", other, most, sum)
	}
	if _, ok := got["namespace=ns-0998"+rest]; !ok {
		t.Error("the namespaces with one placement are not taken in the order of their names")
	}
}
