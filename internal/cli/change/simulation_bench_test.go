package change_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/internal/cli/change"
	"github.com/berth-project/berth/internal/source/file"
)

// benchmarkFleet is a fleet with placements of every kind: all of a region, the roomiest ten, some spread over zones, and some by an
// expression.
func benchmarkFleet(clusters, placements int) file.Objects {
	out := file.Objects{Sets: []*clusterv1beta2.ManagedClusterSet{enginetest.Set("all").Obj()}}
	for i := range clusters {
		out.Clusters = append(out.Clusters, enginetest.Cluster(fmt.Sprintf("c%05d", i)).In("all").Label("region", fmt.Sprintf("r%d", i%20)).
			Label("zone", fmt.Sprintf("z%d", i%100)).CPU(fmt.Sprint(10+i%50)).Obj())
	}
	for i := range placements {
		p := enginetest.Placement(fmt.Sprintf("ns%d", i%100), fmt.Sprintf("p%d", i)).Labels("region", fmt.Sprintf("r%d", i%20))
		switch i % 4 {
		case 0:
			p.BuiltIn("ResourceAllocatableCPU", 2).Number(10)
		case 1:
			p.Even(clusterv1beta1.TopologyKeyTypeLabel, "zone", 1, true).Number(20)
		case 2:
			p = enginetest.Placement(fmt.Sprintf("ns%d", i%100), fmt.Sprintf("p%d", i)).Number(5).
				CEL(fmt.Sprintf(`managedCluster.metadata.labels["region"] == "r%d"`, i%20))
		}
		out.Placements = append(out.Placements, p.Obj())
	}
	for i := range 100 {
		out.Bindings = append(out.Bindings,
			&clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("ns%d", i), Name: "all"}})
	}
	return out
}

// BenchmarkDiff decides a fleet for the first time, drains a region, and compares the decisions.
func BenchmarkDiff(b *testing.B) {
	bundle, err := file.NewCompiledBundle(benchmarkFleet(10_000, 1_000))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		started := time.Now()
		base := change.NewSimulation(bundle, enginetest.Epoch, nil)
		base.Stabilize(base.Order)
		settled := time.Now()
		next := base.Clone()
		touched, err := next.ApplyChange(&change.Proposal{Applied: &file.Bundle{}, Drained: []string{"region=r7"}})
		if err != nil {
			b.Fatal(err)
		}
		next.Stabilize(touched)
		if found := change.Compare(base, next); found.Moved != 50 {
			b.Fatalf("%d placements moved, want 50", found.Moved)
		}
		b.ReportMetric(settled.Sub(started).Seconds(), "base-s")
		b.ReportMetric(time.Since(settled).Seconds(), "change-s")
	}
}
