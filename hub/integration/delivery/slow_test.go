//go:build slow

package delivery

import (
	"math/rand/v2"
	"testing"
)

// TestRolloutHistoryInManySteps is TestRolloutHistory for longer, with a new seed each time.
func TestRolloutHistoryInManySteps(t *testing.T) {
	playHistory(t, slowHistorySteps, slowKilledEvery, rand.Uint64())
}
