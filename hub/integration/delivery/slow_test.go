//go:build slow

package delivery

import "testing"

// TestRolloutHistoryInManySteps is TestRolloutHistory for longer.
func TestRolloutHistoryInManySteps(t *testing.T) { playHistory(t, slowHistorySteps) }
