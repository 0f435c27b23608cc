package change //nolint:testpackage // what is tested is what comes between reading and printing

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/internal/source/file"
)

// bundleOf returns a random state as a hub holds it.
func bundleOf(t *testing.T, w *enginetest.State) *file.Bundle {
	t.Helper()
	objects := file.Objects{
		Clusters: slices.Collect(maps.Values(w.Clusters)), Sets: slices.Collect(maps.Values(w.Sets)),
		Placements: slices.Collect(maps.Values(w.Placements)), Slices: slices.Collect(maps.Values(w.Slices)),
		Scores: slices.Collect(maps.Values(w.Scores)),
	}
	for namespace, sets := range w.Bindings {
		for set := range sets {
			objects.Bindings = append(objects.Bindings, &clusterv1beta2.ManagedClusterSetBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set},
			})
		}
	}
	out, err := file.NewCompiledBundle(objects)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// randomChange is a change of some of the clusters, sets, bindings and placements of a state.
func randomChange(t *testing.T, seed uint64, w *enginetest.State) *Proposal {
	t.Helper()
	r, other := enginetest.NewRandom(seed+1_000_000), enginetest.NewState()
	next := enginetest.NewRandom(seed + 2_000_000).FullState(2)
	for _, name := range slices.Sorted(maps.Keys(next.Clusters)) {
		if r.Chance(20) {
			other.Add(next.Clusters[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(next.Sets)) {
		if r.Chance(20) {
			other.Add(next.Sets[name])
		}
	}
	for _, key := range next.Keys() {
		if r.Chance(30) {
			other.Add(next.Placements[key])
		}
	}
	out := &Proposal{Applied: bundleOf(t, other)}
	for _, name := range slices.Sorted(maps.Keys(w.Clusters)) {
		switch {
		case r.Chance(10):
			out.Deleted = append(out.Deleted, ObjectReference{kind: "cluster", name: name})
		case r.Chance(10) && other.Clusters[name] == nil:
			out.Cordoned = append(out.Cordoned, name)
		}
	}
	out.Cordoned = slices.DeleteFunc(out.Cordoned, func(name string) bool {
		return slices.Contains(out.Deleted, ObjectReference{kind: "cluster", name: name})
	})
	return out
}

// TestPlacementsThatAChangeDoesNotTouchKeepTheirDecisions decides every placement after a change. A placement that the change
// left out keeps its decision, unless it weighs Balance: the decisions of others wake no placement.
func TestPlacementsThatAChangeDoesNotTouchKeepTheirDecisions(t *testing.T) {
	left, moved := 0, 0
	for seed := range uint64(300) {
		w := enginetest.NewRandom(seed).FullState(4)
		base := NewSimulation(bundleOf(t, w), w.Now, nil)
		base.Stabilize(base.Order)
		next := base.Clone()
		touched, err := next.ApplyChange(randomChange(t, seed, w))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		next.Stabilize(touched)
		moved += Compare(base, next).Moved
		for _, key := range next.Order {
			at := next.placements[key]
			if at.program == nil || at.program.HasPrioritizer(program.Balance) || slices.Contains(touched, key) {
				continue
			}
			left++
			result := next.evaluate(key)
			if result == nil {
				continue
			}
			if p := plan.Diff(result, plan.Stored{Placement: at.placement, Slices: at.slices}, next.snapshot.Now); len(p.Added)+len(p.Removed) > 0 {
				t.Errorf("seed %d: %s was left out and would gain %v and lose %v", seed, key, p.Added, p.Removed)
			}
		}
	}
	t.Logf("%d placements were left out, %d moved", left, moved)
	if left == 0 || moved == 0 {
		t.Errorf("%d placements were left out, %d moved: the changes ask too little", left, moved)
	}
}

// TestAppliedClusterKeepsWhatItsManifestLeavesOut holds what of the cluster that is there stays.
func TestAppliedClusterKeepsWhatItsManifestLeavesOut(t *testing.T) {
	stored := enginetest.Cluster("c").Label("region", "eu").Label("feature.open-cluster-management.io/addon-x", "available").
		Claim("version", "1").Taint("gpu", clusterv1.TaintEffectNoSelect, enginetest.Epoch).Obj()
	bundle, err := file.NewCompiledBundle(file.Objects{Clusters: []*clusterv1.ManagedCluster{stored}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		manifest *clusterv1.ManagedCluster
		want     string
	}{
		"labels": {
			enginetest.Cluster("c").Label("region", "us").Obj(),
			"map[feature.open-cluster-management.io/addon-x:available region:us] 1 gpu",
		},
		"a status": {enginetest.Cluster("c").Claim("version", "2").Obj(), "map[feature.open-cluster-management.io/addon-x:available] 2 gpu"},
		"taints": {
			enginetest.Cluster("c").Taint("old", clusterv1.TaintEffectNoSelect, enginetest.Epoch).Obj(),
			"map[feature.open-cluster-management.io/addon-x:available] 1 old",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &changeApplier{Simulation: NewSimulation(bundle, enginetest.Epoch, nil)}
			got := m.mergeCluster(tc.manifest)
			if text := fmt.Sprintf("%v %s %s", got.Labels, got.Status.ClusterClaims[0].Value, got.Spec.Taints[0].Key); text != tc.want {
				t.Errorf("got %s, want %s", text, tc.want)
			}
		})
	}
}
