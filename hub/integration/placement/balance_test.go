package placement

import (
	"fmt"
	"testing"
)

// TestPlacementsBalance decides placements one after the other. Each takes the cluster that the fewest have, and none
// that is decided already moves for it.
func TestPlacementsBalance(t *testing.T) {
	sharedManager(t)
	const clusters, rounds = 5, 3
	f := newFleet(t, clusters)
	homes := map[string]string{}
	for i := range clusters * rounds {
		name := fmt.Sprintf("p%02d", i)
		f.placement(name, number(1))
		f.awaitSelected(name, f.name(i%clusters))
		awaitFixedPoint(t) // until its last write is done, the manager does not count a decision that readers see
		homes[name] = f.name(i % clusters)
	}
	awaitFixedPoint(t)
	for name, home := range homes {
		f.awaitSelected(name, home)
	}
}
