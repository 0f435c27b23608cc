package placement

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestProblemMetricsByNamespace creates placements that are not satisfied, misconfigured and held. A metric counts them by the reason
// of their condition. Its series disappear with the placements.
func TestProblemMetricsByNamespace(t *testing.T) {
	m := sharedManager(t)
	f := newFleet(t, 2)
	leaving := f.join(2, "open", "true")
	f.placement("good")
	f.awaitSelected("good", f.upTo(3)...)
	f.awaitProblems(m, map[string]float64{})

	placements := []*clusterv1beta1.Placement{
		f.placement("few", kit.Number(4)),
		f.placement("none", kit.Labelled("open", "never")),
		f.placement("wrong", expression(`managedCluster.metadata.name ==`)),
		f.placement("held", kit.Labelled("open", "true"), func(spec *clusterv1beta1.PlacementSpec) {
			spec.DisruptionPolicy = &clusterv1beta1.DisruptionPolicy{MaxUnavailable: intstr.FromInt32(0)}
		}),
	}
	f.awaitSelected("held", leaving.Name)
	change(f, leaving, func(c *clusterv1.ManagedCluster) { c.Labels["open"] = "false" })
	f.awaitProblems(m, map[string]float64{
		"PlacementSatisfied NotAllDecisionsScheduled": 2, // the misconfigured placement was never decided
		"PlacementSatisfied NoManagedClusterMatched":  1,
		"PlacementMisconfigured Misconfigured":        1,
		"PlacementHeld DisruptionBudgetSpent":         1,
	})

	for _, p := range placements {
		f.MustDelete(p)
	}
	f.awaitProblems(m, map[string]float64{})
}

// awaitProblems waits until a manager serves exactly some series of placements with a problem in the fleet's namespace.
func (f *fleet) awaitProblems(m *manager, want map[string]float64) {
	f.t.Helper()
	f.Await("a manager serves exactly some series of placements with a problem in the fleet's namespace", func(ctx context.Context) error {
		read, err := m.ReadMetrics(ctx)
		if err != nil {
			return err
		}
		got := map[string]float64{}
		for _, series := range read.Series("berth_namespace_placements", fmt.Sprintf("namespace=%q", f.namespace)) {
			labels := map[string]string{}
			for _, pair := range series.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			got[labels["type"]+" "+labels["reason"]] = series.GetGauge().GetValue()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("series of the namespace (-want +got):\n%s", diff)
		}
		return nil
	})
}
