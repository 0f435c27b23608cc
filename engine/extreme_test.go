package engine_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
)

// TestExtremeValuesDecideAsLargeValues tests that arithmetic saturates: the largest storable value decides as a value that is
// just larger than the fleet.
func TestExtremeValuesDecideAsLargeValues(t *testing.T) {
	const large = 1_000_000
	tolerate := func(seconds int64) *enginetest.PlacementBuilder {
		return placement().Tolerate(clusterv1beta1.Toleration{Operator: clusterv1beta1.TolerationOpExists, TolerationSeconds: &seconds})
	}
	weighted := func(score int32) *enginetest.State {
		return extreme(placement().Number(1).AddOn("load", "cpu", 10).AddOn("load", "memory", 10), 1).
			Add(enginetest.Score("c00001", "load").Value("cpu", score).Value("memory", score).Obj())
	}
	spent := func(count int32) *enginetest.State {
		p := placement().Number(1).AddOn("load", "cpu", 10).Budget("1", time.Hour)
		return extreme(p.Spent(enginetest.Epoch, count).Spent(enginetest.Epoch, count), 1).
			Add(enginetest.Score("c00001", "load").Value("cpu", 100).Obj())
	}
	for name, of := range map[string]struct{ large, extreme *enginetest.State }{
		"numberOfClusters": {extreme(placement().Number(large), 1), extreme(placement().Number(math.MaxInt32), 1)},
		"maxSkew": {
			extreme(placement().Even(byLabel, "zone", large, true), 1),
			extreme(placement().Even(byLabel, "zone", math.MaxInt32, true), 1),
		},
		"tolerationSeconds":    {extreme(tolerate(large), 1), extreme(tolerate(math.MaxInt64), 1)},
		"stabilizationSeconds": {extreme(placement().Failback(large), 1), extreme(placement().Failback(math.MaxInt32), 1)},
		"maxUnavailable":       {extreme(placement().Budget("1000000", time.Hour), 1), extreme(placement().Budget("2147483647", time.Hour), 1)},
		"recorded spending":    {spent(large), spent(math.MaxInt32)},
		"scores":               {weighted(100), weighted(math.MaxInt32)},
		"the number of a slice": {
			extreme(placement().PerGroup("1"), large), extreme(placement().PerGroup("1"), math.MaxInt64),
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, got := enginetest.Decide(t, of.large), enginetest.Decide(t, of.extreme)
			if diff := cmp.Diff(want.Clusters(), got.Clusters()); diff != "" {
				t.Errorf("clusters (-large +extreme):\n%s", diff)
			}
			if want.Selected == 0 {
				t.Error("neither selects any cluster")
			}
		})
	}
}

const byLabel = clusterv1beta1.TopologyKeyTypeLabel

// extreme is a state of three clusters, one of them tainted, with the first in a slice with a number.
func extreme(p *enginetest.PlacementBuilder, number int) *enginetest.State {
	w := many(3, p.Obj(), func(i int, c *enginetest.ClusterBuilder) {
		if i == 2 {
			c.Taint("gpu", clusterv1.TaintEffectNoSelect, enginetest.Epoch)
		}
		c.Label("zone", "a")
	})
	return w.Add(enginetest.Slice("ns", "p", number, "c00000").Obj())
}
