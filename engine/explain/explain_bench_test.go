package explain_test

import (
	"fmt"
	"testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/plan"
)

// large is the number of clusters.
const large = 10_000

// largeFleet is a placement over many clusters in 5 regions, 50 zones and a few sets, decided once. The cluster "odd" lacks
// everything, has taints and comes last by name and by score.
func largeFleet(b *testing.B, p *enginetest.PlacementBuilder) (*enginetest.State, explain.Case) {
	b.Helper()
	w := enginetest.NewState(p.Obj(), enginetest.Set("all").Obj(), enginetest.Set("other").Obj(), enginetest.Set("third").Obj()).Bind("ns",
		"all")
	for i := range large {
		c := enginetest.Cluster(fmt.Sprintf("c%05d", i)).In("all").Label("region", fmt.Sprintf("r%d", i%5)).
			Label("zone", fmt.Sprintf("z%d", i%50)).CPU(fmt.Sprint(100 + i%50)).Memory(fmt.Sprintf("%dGi", 10+i%90))
		if i%20 == 0 {
			c.Taint("gpu", clusterv1.TaintEffectNoSelect, enginetest.Epoch)
		}
		w.Add(c.Obj())
	}
	w.Add(enginetest.Cluster("odd").CPU("1").Memory("1Gi").Taint("gpu", clusterv1.TaintEffectNoSelect, enginetest.Epoch).
		Taint("old", clusterv1.TaintEffectNoSelect, enginetest.Epoch).Obj())
	env, key := enginetest.Env(b), enginetest.OnlyPlacement(b, w)
	decide(w, key, env)
	return w, explain.Case{Snapshot: w.Snapshot(), Placement: w.Placements[key], Past: plan.ReadLedger(w.Placements[key]), Env: env}
}

func placements() map[string]*enginetest.PlacementBuilder {
	p := func() *enginetest.PlacementBuilder {
		return enginetest.Placement("ns", "p").BuiltIn("ResourceAllocatableCPU", 3).BuiltIn("ResourceAllocatableMemory", 2)
	}
	const label, zone = clusterv1beta1.TopologyKeyTypeLabel, "zone"
	return map[string]*enginetest.PlacementBuilder{
		"all clusters": p(),
		"a region":     p().Labels("region", "r1").Number(20),
		"half of all":  p().Number(large / 2),
		"expressions":  p().CEL(`managedCluster.metadata.labels["region"] == "r1"`).Number(20),
		"in groups":    p().PerGroup("5"),
		"apart":        p().Apart(label, zone).Number(60),
		"apart twice":  p().Apart(label, zone).Apart(label, "region").Number(60),
		"spread":       p().Even(label, "region", 1, true).Even(label, zone, 1, true).Number(500),
		"spread tiers": p().TierOf("first", "c00001", "c00002").Labels("region", "r3").Even(label, "region", 1, true).Apart(label,
			zone).Number(5),
	}
}

func BenchmarkExplanation(b *testing.B) {
	for name, p := range placements() {
		b.Run(name, func(b *testing.B) {
			w, c := largeFleet(b, p)
			result := enginetest.DecidePlacement(c.Snapshot, c.Placement, c.Env)
			b.ReportAllocs()
			for b.Loop() {
				if got := explain.Of(result, c.Placement, nil); len(got.Clusters) != len(w.Clusters) {
					b.Fatalf("%d clusters, want %d", len(got.Clusters), len(w.Clusters))
				}
			}
		})
	}
}

func BenchmarkFix(b *testing.B) {
	for name, p := range placements() {
		b.Run(name, func(b *testing.B) {
			_, c := largeFleet(b, p)
			id, _ := c.Snapshot.ID("odd")
			b.ReportAllocs()
			var fix explain.Fix
			for b.Loop() {
				fix = c.Fix(id)
			}
			b.Log(fix.String())
		})
	}
}
