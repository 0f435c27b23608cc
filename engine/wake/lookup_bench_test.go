package wake_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/wake"
)

const (
	fleetSize  = 10_000
	namespaced = 20
)

// BenchmarkClusterChanged flips a label of one of 10,000 clusters. Each of 10,000 placements selects a tenth of them by
// one label. A cluster has ten labels of ten values each. The benchmark reports how many placements are touched, and how
// many times as long a scan of every placement takes.
func BenchmarkClusterChanged(b *testing.B) {
	for name, tc := range map[string]struct {
		// labels is how many of the labels placements select by.
		labels int
		change func(*enginetest.ClusterBuilder) *enginetest.ClusterBuilder
		want   int
	}{
		"a label that a tenth of the placements read": {10, func(c *enginetest.ClusterBuilder) *enginetest.ClusterBuilder {
			return c.Label("key-0", "other")
		}, 100},
		"from one read value to another": {10, func(c *enginetest.ClusterBuilder) *enginetest.ClusterBuilder {
			return c.Label("key-0", "value-1")
		}, 200},
		"a label that all read": {1, func(c *enginetest.ClusterBuilder) *enginetest.ClusterBuilder {
			return c.Label("key-0", "value-1")
		}, 2000},
		"a label that no placement reads": {1, func(c *enginetest.ClusterBuilder) *enginetest.ClusterBuilder {
			return c.Label("key-1", "other")
		}, 0},
		"a taint": {10, func(c *enginetest.ClusterBuilder) *enginetest.ClusterBuilder {
			return c.Taint("gpu", clusterv1.TaintEffectNoSelect, enginetest.Epoch)
		}, 1000},
	} {
		b.Run(name, func(b *testing.B) {
			f := newBenchFleet(b, tc.labels)
			n := naiveIndex{f.snapshot, fleet.NewCluster(labelledCluster(0).Obj()), fleet.NewCluster(tc.change(labelledCluster(0)).Obj())}
			began := time.Now()
			want := f.scan(n)
			scanned := time.Since(began)
			if diff := cmp.Diff(want, keySet(f.index.ClusterChanged(n.fleet, n.before, n.after))); diff != "" || len(want) != tc.want {
				b.Fatalf("%d touched, want %d (-naive +index):\n%s", len(want), tc.want, diff)
			}
			b.ReportAllocs()
			for b.Loop() {
				if got := len(f.index.ClusterChanged(n.fleet, n.before, n.after)); got != tc.want {
					b.Fatalf("%d placements touched, want %d", got, tc.want)
				}
			}
			b.ReportMetric(float64(tc.want), "placements")
			b.ReportMetric(float64(scanned)/(float64(b.Elapsed())/float64(b.N)), "x-naive")
		})
	}
}

// BenchmarkPut replaces, removes and adds one of many placements. All select by one label; no two have the same dependencies.
func BenchmarkPut(b *testing.B) {
	for _, placements := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(placements), func(b *testing.B) {
			s := enginetest.NewState(enginetest.Set("all").Obj()).Bind("ns", "all").Snapshot()
			index, env := wake.NewIndex(), enginetest.Env(b)
			var one *program.Program
			for i := range placements {
				one = compileFor(b, env, p().Predicate(clusterv1beta1.ClusterSelector{LabelSelector: metav1.LabelSelector{
					MatchExpressions: []metav1.LabelSelectorRequirement{
						enginetest.Wants("stage", metav1.LabelSelectorOpIn, "prod"),
						enginetest.Wants("team", metav1.LabelSelectorOpNotIn, fmt.Sprint(i)),
					},
				}}))
				one.Key.Name = fmt.Sprint(i)
				index.Put(s, one.Key, one)
			}
			b.ReportAllocs()
			for b.Loop() {
				index.Put(s, one.Key, one)
				index.Remove(one.Key)
				index.Put(s, one.Key, one)
			}
			if index.Len() != placements {
				b.Fatalf("%d placements, want %d", index.Len(), placements)
			}
		})
	}
}

// benchFleet is a fleet with many placements.
type benchFleet struct {
	snapshot *fleet.Snapshot
	index    *wake.Index
	programs map[fleet.Key]*program.Program
}

// newBenchFleet returns a fleet whose placements each select by one of so many labels.
func newBenchFleet(b *testing.B, labels int) benchFleet {
	b.Helper()
	w := enginetest.NewState(enginetest.Set("all").Obj())
	for i := range fleetSize {
		w.Add(labelledCluster(i).Obj())
	}
	for i := range fleetSize / namespaced {
		w.Bind(fmt.Sprintf("ns-%d", i), "all")
	}
	out := benchFleet{w.Snapshot(), wake.NewIndex(), map[fleet.Key]*program.Program{}}
	env := enginetest.Env(b)
	for i := range fleetSize {
		selected := enginetest.LabelIs(fmt.Sprintf("key-%d", i%labels), fmt.Sprintf("value-%d", i/labels%10))
		compiled := compileFor(b, env, enginetest.Placement(fmt.Sprintf("ns-%d", i/namespaced), fmt.Sprintf("p-%d", i)).
			Predicate(clusterv1beta1.ClusterSelector{LabelSelector: selected}))
		out.index.Put(out.snapshot, compiled.Key, compiled)
		out.programs[compiled.Key] = compiled
	}
	return out
}

func compileFor(b *testing.B, env *celenv.Env, placement *enginetest.PlacementBuilder) *program.Program {
	b.Helper()
	out, faults := program.Compile(placement.Obj(), env)
	if len(faults) > 0 {
		b.Fatal(faults.ToAggregate())
	}
	return out
}

// labelledCluster is a cluster with ten labels of ten values each.
func labelledCluster(i int) *enginetest.ClusterBuilder {
	out := c(fmt.Sprintf("c%05d", i))
	for key := range 10 {
		out.Label(fmt.Sprintf("key-%d", key), fmt.Sprintf("value-%d", i%10))
		i /= 3
	}
	return out
}

func (f benchFleet) scan(n naiveIndex) map[fleet.Key]bool {
	out := map[fleet.Key]bool{}
	for key, p := range f.programs {
		if n.touches(key, p) {
			out[key] = true
		}
	}
	return out
}

func keySet(keys []fleet.Key) map[fleet.Key]bool {
	out := map[fleet.Key]bool{}
	for _, key := range keys {
		out[key] = true
	}
	return out
}
