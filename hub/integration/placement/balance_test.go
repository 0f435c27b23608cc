package placement

import (
	"fmt"
	"testing"

	"github.com/berth-project/berth/hub/hubtest/kit"
)

// TestPlacementsBalance decides placements one after the other. Each selects the cluster with the fewest decisions, and no earlier
// decision changes.
func TestPlacementsBalance(t *testing.T) {
	sharedManager(t)
	const clusters, rounds = 5, 3
	f := newFleet(t, clusters)
	homes := map[string]string{}
	for i := range clusters * rounds {
		name := fmt.Sprintf("p%02d", i)
		f.placement(name, kit.Number(1))
		f.awaitSelected(name, f.name(i%clusters))
		awaitFixedPoint(t) // the manager counts a decision only after its last write
		homes[name] = f.name(i % clusters)
	}
	awaitFixedPoint(t)
	for name, home := range homes {
		f.awaitSelected(name, home)
	}
}
