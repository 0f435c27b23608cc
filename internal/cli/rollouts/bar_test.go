package rollouts

import (
	"strings"
	"testing"
)

// TestTheBarAlwaysShowsAFailure draws every division of a fleet, with one failure among many clusters.
func TestTheBarAlwaysShowsAFailure(t *testing.T) {
	const total, width = 1000, 10
	for done := range total {
		for _, inFlight := range []int{0, 1, (total - done) / 2, total - done - 1} {
			drawn := bar(numbers{total: total, done: done, inFlight: inFlight, failed: 1}, width)
			if !strings.Contains(drawn, "!") || len(drawn) != width+len("[]") {
				t.Fatalf("%d done, %d under way, 1 failed: %s", done, inFlight, drawn)
			}
		}
	}
}
