package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/console/model"
	"github.com/berth-project/berth/internal/source/file"
)

// explanation decides a placement with a cluster for each stage.
func explanation(t *testing.T) *explain.Explanation {
	t.Helper()
	placement := enginetest.Placement("ns", "p").Labels("kind", "web").Number(2).Apart("Label", "zone").Obj()
	in := func(name string) *enginetest.ClusterBuilder {
		return enginetest.Cluster(name).In("sea").Label("kind", "web").Label("zone", name)
	}
	state := enginetest.NewState(placement, enginetest.Set("sea").Obj(),
		in("chosen-1").Obj(), in("chosen-2").Obj(), in("outranked").Obj(),
		in("chosen-0").Label("zone", "chosen-1").Obj(),
		in("tainted").Taint("broken", clusterv1.TaintEffectNoSelect, enginetest.Epoch).Obj(),
		enginetest.Cluster("mismatch-1").In("sea").Obj(), enginetest.Cluster("mismatch-2").In("sea").Obj(),
		enginetest.Cluster("outside").Obj(),
	).Bind("ns", "sea")
	out := explain.Of(enginetest.Decide(t, state), placement, nil)
	return &out
}

// lines returns a funnel as text.
func lines(stages []model.Stage) []string {
	var out []string
	for _, s := range stages {
		line := fmt.Sprintf("%s %d to %d", s.ID, s.In, s.Out)
		for _, rejected := range s.Rejected {
			line += fmt.Sprintf(", %d %s", rejected.Count, rejected.Verdict)
		}
		out = append(out, line)
	}
	return out
}

func TestFunnel(t *testing.T) {
	found := explanation(t)
	want := []string{
		"sets 8 to 7, 1 OutsideSets", "predicates 7 to 5, 2 Mismatch", "taints 5 to 4, 1 Tainted", "scores 4 to 3, 1 Beaten",
		"constraints 3 to 2, 1 Capped",
	}
	if diff := cmp.Diff(want, lines(model.Funnel(found))); diff != "" {
		t.Errorf("funnel (-want +got):\n%s", diff)
	}
	// What a stage counts is what it lists, and what is left is selected.
	stages := model.Funnel(found)
	for _, stage := range stages {
		rejected, ok := model.RejectedBy(found, stage.ID)
		if !ok || len(rejected) != stage.In-stage.Out {
			t.Errorf("stage %s lists %d clusters, want %d", stage.ID, len(rejected), stage.In-stage.Out)
		}
	}
	if last := stages[len(stages)-1].Out; last != len(found.Chosen()) {
		t.Errorf("the last stage passes %d clusters, want the %d selected", last, len(found.Chosen()))
	}
	if _, ok := model.RejectedBy(found, "none"); ok {
		t.Error("an unknown stage lists clusters")
	}
}

func TestFunnelOfMistake(t *testing.T) {
	placement := enginetest.Placement("ns", "p").Number(-1).Obj()
	state := enginetest.NewState(placement, enginetest.Set("sea").Obj(), enginetest.Cluster("kept").In("sea").Obj(),
		enginetest.Cluster("new").In("sea").Obj(),
		enginetest.Slice("ns", "p", 1, "kept").Obj()).Bind("ns", "sea")
	found := explain.Of(enginetest.Decide(t, state), placement, nil)
	want := []string{"sets 2 to 2", "predicates 2 to 2", "taints 2 to 2", "scores 2 to 2", "undecided 2 to 1, 1 Undecided"}
	if diff := cmp.Diff(want, lines(model.Funnel(&found))); diff != "" {
		t.Errorf("funnel (-want +got):\n%s", diff)
	}
}

func available(cluster *clusterv1.ManagedCluster, status metav1.ConditionStatus) *clusterv1.ManagedCluster {
	cluster.Spec.HubAcceptsClient = true
	cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: status}}
	return cluster
}

func state(version uint64, objects file.Objects) *model.State {
	return model.NewState(file.NewBundle(objects), version, enginetest.Epoch, "")
}

func TestGrid(t *testing.T) {
	joining := enginetest.Cluster("d").Obj()
	joining.Spec.HubAcceptsClient = true
	clusters := func() []*clusterv1.ManagedCluster {
		return []*clusterv1.ManagedCluster{
			available(enginetest.Cluster("b").Label("region", "eu").Taint("x", clusterv1.TaintEffectNoSelect, enginetest.Epoch).Obj(),
				metav1.ConditionFalse),
			available(enginetest.Cluster("a").Label("region", "us").In("sea").Obj(), metav1.ConditionTrue),
			available(enginetest.Cluster("c").Label("region", "eu").Obj(), metav1.ConditionUnknown), joining, enginetest.Cluster("e").Obj(),
			enginetest.Cluster("f").Terminating().Obj(),
		}
	}
	before := state(1, file.Objects{Clusters: clusters(), Sets: []*clusterv1beta2.ManagedClusterSet{enginetest.Set("sea").Obj()}})
	grid := before.Grid()
	if got := strings.Join(grid.Names, ""); got != "abcdef" || grid.Health != "huxjpd" || grid.Tainted != "010000" {
		t.Errorf("names %s, health %s, tainted %s, want abcdef, huxjpd, 010000", got, grid.Health, grid.Tainted)
	}
	if got, want := before.LabelColumn("region"), (model.Column{Values: []string{"us", "eu"}, Index: []int{0, 1, 1, -1, -1, -1}}); !cmp.Equal(
		got, want) {
		t.Errorf("the column of the label is %v, want %v", got, want)
	}
	if got, want := before.SetColumn(), (model.Column{Values: []string{"sea"}, Index: []int{0, -1, -1, -1, -1, -1}}); !cmp.Equal(got, want) {
		t.Errorf("the column of sets is %v, want %v", got, want)
	}
	changed := clusters()
	available(changed[0], metav1.ConditionTrue)
	after := state(2, file.Objects{Clusters: changed}).Grid()
	changes, ok := after.Changes(grid)
	if want := []model.CellChange{{Index: 1, Health: "h", Tainted: "1"}}; !ok || !cmp.Equal(changes, want) {
		t.Errorf("the changes are %v (%v), want %v", changes, ok, want)
	}
	if _, ok := state(3, file.Objects{Clusters: changed[1:]}).Grid().Changes(grid); ok {
		t.Error("a fleet with another cluster has changes of cells, want a reset")
	}
}

func TestSelectedBy(t *testing.T) {
	s := state(1, file.Objects{
		Clusters: []*clusterv1.ManagedCluster{enginetest.Cluster("a").Obj(), enginetest.Cluster("b").Obj()},
		Slices:   []*clusterv1beta1.PlacementDecision{enginetest.Slice("ns", "p", 1, "a", "b").Obj(), enginetest.Slice("ns", "q", 1, "a").Obj()},
	})
	if got := fmt.Sprint(s.SelectedBy("a"), s.SelectedBy("b"), s.Grid().Selected); got != "[ns/p ns/q] [ns/p] [2 1]" {
		t.Errorf("got %s", got)
	}
}

func TestSearch(t *testing.T) {
	s := state(1, file.Objects{Clusters: []*clusterv1.ManagedCluster{
		enginetest.Cluster("x-eu").Obj(), enginetest.Cluster("eu-1").Obj(), enginetest.Cluster("eu-2").Obj(), enginetest.Cluster("us").Obj(),
	}, Sets: []*clusterv1beta2.ManagedClusterSet{enginetest.Set("europe").Obj()}})
	want := []model.Match{{Kind: "cluster", Name: "eu-1"}, {Kind: "cluster", Name: "eu-2"}, {Kind: "set", Name: "europe"}}
	if diff := cmp.Diff(want, s.Search(" EU ", 2)); diff != "" {
		t.Errorf("matches (-want +got):\n%s", diff)
	}
	if got := s.Search("  ", 2); got != nil {
		t.Errorf("an empty search found %v", got)
	}
}
