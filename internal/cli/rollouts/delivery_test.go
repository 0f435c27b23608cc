package rollouts_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/cli/golden"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/plan/plantest"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/rollout"
)

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// set returns a set over the placements canary and fleet.
func set(t *testing.T) *workv1alpha1.ManifestWorkReplicaSet {
	t.Helper()
	out := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata: {namespace: shop, name: web, uid: u, generation: 2, resourceVersion: "7"}
spec:
  manifestWorkTemplate: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: a}}]}}
  placementRefs:
    - {name: canary, rolloutStrategy: {type: All, paused: true}}
    - name: fleet
      rolloutStrategy:
        type: Progressive
        progressive: {maxConcurrency: 2, maxFailures: 5}
        approval: {required: [{groupIndex: 1}], approved: [{groupName: first}]}
  cascadeDeletionPolicy: Background
`), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// state returns a set that the planner has started on a number of clusters of the placement fleet. The agent of the first one has
// succeeded, that of the second one has failed.
func state(t *testing.T, clusters int) rollouts.Delivery {
	t.Helper()
	out := rollouts.Delivery{Set: set(t), Placements: map[string]plan.Placement{}}
	out.Set.Spec.PlacementRefs[1].RolloutStrategy.Approval = nil
	slice := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "fleet-0", Labels: map[string]string{
			clusterv1beta1.PlacementLabel:          "fleet",
			clusterv1beta1.DecisionGroupIndexLabel: "0",
		},
	}}
	for i := range clusters {
		slice.Status.Decisions = append(slice.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: fmt.Sprintf("edge-%02d", i)})
	}
	object := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "fleet"}}
	object.Status.NumberOfSelectedClusters = int32(clusters)
	out.Placements["fleet"] = plan.Placement{Object: object, Decisions: decision.Of(slice)}
	hash, err := plan.TemplateHash(&out.Set.Spec.ManifestWorkTemplate)
	if err != nil {
		t.Fatal(err)
	}
	began := now.Add(-10 * time.Minute)
	in := plan.Input{Set: out.Set, Hash: hash, Placements: out.Placements, Now: began}
	out.Set.Status = plan.Plan(in).Status // what starts is on record
	for i, write := range plan.Plan(in).Writes {
		work := write.Object(&out.Set.Spec.ManifestWorkTemplate)
		work.UID, work.Generation = types.UID(fmt.Sprint(i)), 1
		for _, kind := range []string{workv1.WorkApplied, []string{workv1.WorkAvailable, workv1.WorkDegraded}[i%2]} {
			meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{
				Type: kind, Status: metav1.ConditionTrue, Reason: "Test", ObservedGeneration: 1,
				LastTransitionTime: metav1.NewTime(began.Add(time.Minute)),
			})
		}
		out.Works = append(out.Works, work)
	}
	return out
}

func TestTable(t *testing.T) {
	hidden := state(t, 4)
	hidden.Works, hidden.WorksHidden = nil, true
	hidden.Set.Status.Conditions = []metav1.Condition{{Type: "Progressing", Reason: "Advancing", Message: "fleet: 1 of 4 clusters is done"}}
	hidden.Set.Status.Summary = workv1alpha1.ManifestWorkReplicaSetSummary{
		DesiredTotal: 4, Total: 2, Updated: 2, Applied: 2, Available: 1,
		Degraded: 1,
	}
	hidden.Set.Status.PlacementsSummary = []workv1alpha1.PlacementSummary{{Name: "fleet", Summary: hidden.Set.Status.Summary}}
	for name, tc := range map[string]struct {
		delivery rollouts.Delivery
		all      bool
	}{
		"some.txt":   {delivery: state(t, 4)},
		"all.txt":    {delivery: state(t, 4), all: true},
		"many.txt":   {delivery: state(t, 40)},
		"hidden.txt": {delivery: hidden},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := rollouts.NewReport(tc.delivery, now)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := rollouts.PrintTable(&out, &report, printer.Screen{Width: printer.DefaultWidth}, now, tc.all); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				if len([]rune(strings.TrimSuffix(line, "\n"))) > printer.DefaultWidth {
					t.Errorf("a line is wider than the screen: %q", line)
				}
			}
			checkGolden(t, name, out.String())
		})
	}
}

// TestLostClustersAreNamed: the clusters that are not selected any more are in no row of the clusters.
func TestLostClustersAreNamed(t *testing.T) {
	const strategy = "{type: Progressive, progressive: {maxConcurrency: 2, maxFailures: 1}}"
	w := plantest.New(t, now, strategy, plantest.Group{Clusters: []string{"a", "b", "c"}})
	w.Step()
	w.Decide(plantest.Group{Clusters: []string{"b", "c"}})
	w.Step()
	found := report.New(w.Input())
	found.Unwritten = "1 of 2 clusters not written: a (namespaces \"a\" not found)"
	for reader, of := range map[string]report.Report{
		"an administrator": found,
		"a tenant":         found.Visible(func(cluster string) bool { return cluster != "a" }),
	} {
		var out strings.Builder
		if err := rollouts.PrintTable(&out, &of, printer.Screen{Width: printer.DefaultWidth}, now, false); err != nil {
			t.Fatal(err)
		}
		if named := strings.Contains(out.String(), "Lost: a is no longer selected before it succeeded\n"); named !=
			(reader == "an administrator") {
			t.Errorf("%s reads:\n%s", reader, out.String())
		}
		if named := strings.Contains(out.String(), found.Unwritten); named != (reader == "an administrator") {
			t.Errorf("%s reads of a missing namespace: %v\n%s", reader, named, out.String())
		}
	}
}

// TestALostClusterIsNamedOnce: a lost cluster whose work is there yet has one row, and so has a cluster beyond the rows of the table.
func TestALostClusterIsNamedOnce(t *testing.T) {
	of := report.Report{Set: "shop/web"}
	for _, name := range plantest.Clusters("edge", 22) {
		of.Clusters = append(of.Clusters, report.Cluster{Cluster: name, Code: rollout.UnderWay, State: rollout.StateProgressing})
	}
	for _, at := range []int{0, 21} {
		c := &of.Clusters[at]
		c.Code, c.Message = rollout.Left, "counts as lost: failed, and was dropped by an edit"
		of.Lost = append(of.Lost, report.LostCluster{
			Cluster: c.Cluster, Phase: clusterv1alpha1.ClusterLost, Reason: "failed, and was dropped by an edit",
		})
	}
	var table, explanation strings.Builder
	if err := rollouts.PrintTable(&table, &of, printer.Screen{Width: 200}, now, false); err != nil {
		t.Fatal(err)
	}
	rollouts.PrintRollout(&explanation, &of, printer.Screen{Width: 200}, now)
	for _, text := range []string{table.String(), explanation.String()} {
		for _, name := range []string{"edge-00", "edge-21"} {
			if strings.Count(text, name) != 1 {
				t.Errorf("%s is not named once:\n%s", name, text)
			}
		}
	}
}

// checkGolden compares an output with a golden file.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	golden.Check(t, filepath.Join("testdata", name), got)
}

func TestChanges(t *testing.T) {
	const fence = `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},`
	paused := func(placement string, to bool) func(*workv1alpha1.ManifestWorkReplicaSet) ([]byte, error) {
		return func(of *workv1alpha1.ManifestWorkReplicaSet) ([]byte, error) {
			return rollouts.SetPaused(of, placement, to)
		}
	}
	for name, tc := range map[string]struct {
		change func(*workv1alpha1.ManifestWorkReplicaSet) ([]byte, error)
		want   string
		err    string
	}{
		"pause all": {change: paused("", true), want: fence +
			`{"op":"add","path":"/spec/placementRefs/1/rolloutStrategy/paused","value":true}]`},
		"pause what is paused": {change: paused("canary", true)},
		"resume all": {change: paused("", false), want: fence +
			`{"op":"add","path":"/spec/placementRefs/0/rolloutStrategy/paused","value":false}]`},
		"resume what is running": {change: paused("fleet", false)},
		"pause no placement":     {change: paused("nowhere", true), err: `the set shop/web has no placement "nowhere": it has canary, fleet`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.change(set(t))
			message := ""
			if err != nil {
				message = err.Error()
			}
			if diff := cmp.Diff([]string{tc.want, tc.err}, []string{string(got), message}); diff != "" {
				t.Errorf("patch and error (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnEndedRolloutIsNotCalledPaused: a pause matters to what has not started.
func TestAnEndedRolloutIsNotCalledPaused(t *testing.T) {
	for phase, want := range map[string]string{"Finished": "Finished", "Breached": "Breached", "Waiting": "Paused", "Paused": "Paused"} {
		var out strings.Builder
		found := report.Report{Placements: []report.Placement{{Name: "fleet", Strategy: "All", Phase: phase, Paused: true}}}
		if err := rollouts.PrintTable(&out, &found, printer.Screen{}, now, false); err != nil {
			t.Fatal(err)
		}
		if _, row, _ := strings.Cut(out.String(), "\nfleet "); !strings.HasSuffix(strings.TrimSpace(row), want) {
			t.Errorf("%s: %q, want %s", phase, row, want)
		}
	}
}
