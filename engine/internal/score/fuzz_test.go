package score_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/program"
)

// FuzzQuantity gives three clusters any amounts that the API server stores. Every score is within its range, the least
// gets no more than the most, equal amounts get equal scores, and a cluster that reports none counts in the middle.
func FuzzQuantity(f *testing.F) {
	for _, text := range []string{
		"0", "1", "100m", "1n", "-1", "64Gi", "1.5E", "9223372036854775807", "1e18", "1e400", "-1e400", "0.0000001",
		"5e-324",
	} {
		f.Add(text, "10", "64Gi")
		f.Add("10", text, text)
		f.Add(text, "-"+text, "1")
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		amounts := map[string]resource.Quantity{}
		w := stateOf(enginetest.Cluster("silent"))
		for name, text := range map[string]string{"a": a, "b": b, "c": c} {
			quantity, err := resource.ParseQuantity(text)
			if err != nil {
				t.Skip("the API server refuses it")
			}
			amounts[name] = quantity
			cluster := enginetest.Cluster(name).Obj()
			cluster.Status.Allocatable = clusterv1.ResourceList{clusterv1.ResourceMemory: quantity}
			cluster.Status.Capacity = cluster.Status.Allocatable
			w.Add(cluster)
		}
		got, _ := scoresOf(w, program.Prioritizer{Kind: program.AllocatableMemory, Weight: 1})
		if got["silent"] != 0 {
			t.Errorf("a cluster without the resource gets %d, want 0", got["silent"])
		}
		for name, amount := range amounts {
			if got[name] < -100 || got[name] > 100 {
				t.Errorf("%s has %s and gets %d", name, amount.String(), got[name])
			}
			for other, more := range amounts {
				if order := amount.Cmp(more); order == 0 && got[name] != got[other] || order < 0 && got[name] > got[other] {
					t.Errorf("%s has %s and gets %d, %s has %s and gets %d", name, amount.String(), got[name], other, more.String(), got[other])
				}
			}
		}
	})
}
