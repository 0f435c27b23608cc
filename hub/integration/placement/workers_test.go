//go:build slow

package placement

import (
	"fmt"
	"sync"
	"testing"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestManyWorkers lets 32 workers decide hundreds of placements, under the race detector, while the fleet changes in
// several places at once.
func TestManyWorkers(t *testing.T) {
	const clusters, placements, hands, turns = 40, 300, 4, 40
	f := newFleet(t, 0)
	for i := range clusters {
		f.join(i, "ring", fmt.Sprint(i%4))
	}
	for i := range placements {
		f.placement(fmt.Sprintf("p%03d", i), kit.Number(int32(i%20)), func(spec *clusterv1beta1.PlacementSpec) {
			switch i % 5 {
			case 0:
				kit.Labelled("ring", fmt.Sprint(i%4))(spec)
			case 1:
				expression(fmt.Sprintf(`managedCluster.metadata.labels["ring"] == "%d"`, i%4))(spec)
			case 2:
				spec.DecisionStrategy.GroupStrategy = groupStrategies()[i%len(groupStrategies())]
			default:
			}
		})
	}
	m := start(t, options{Args: []string{"--workers=32"}})
	var working sync.WaitGroup
	for hand := range hands {
		working.Go(func() {
			for turn := range turns {
				number := hand*clusters/hands + turn%(clusters/hands)
				switch turn % 4 {
				case 0:
					change(f, f.cluster(number), func(c *clusterv1.ManagedCluster) { c.Labels["ring"] = fmt.Sprint(turn % 5) })
				case 1:
					change(f, f.cluster(number), func(c *clusterv1.ManagedCluster) { toggle(c) })
				case 2:
					f.MustDelete(f.object(fmt.Sprintf("p%03d", hand*placements/hands+turn)))
				default:
					f.placement(fmt.Sprintf("new-%d-%d", hand, turn), number32(turn))
				}
			}
		})
	}
	working.Wait()
	awaitFixedPoint(t)
	if got := m.idle(t, 0).Sum("controller_runtime_max_concurrent_reconciles"); got != 32 {
		t.Errorf("%v workers, want 32", got)
	}
}

func number32(turn int) func(*clusterv1beta1.PlacementSpec) { return kit.Number(int32(turn % 7)) }
