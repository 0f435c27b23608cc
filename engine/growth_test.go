//go:build slow

package engine_test

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

const (
	// times is the ratio of the two sizes. Linear work takes as many times as long, and a little more if it sorts or misses caches.
	// Quadratic work takes sixteen times as long. mostGrowth is between.
	times, mostGrowth = 4, 9
	// fewest and attempts are how often both sizes are timed at least and at most, alternately. The shortest times count.
	// So another process can make the test longer, but cannot change its result.
	fewest, attempts = 10, 60
)

// TestTimeGrowsInProportionToTheFleet compares the time of a decision with that of four times the size, in the same run. BERTH_LONG=1
// uses the sizes of the largest fleets.
func TestTimeGrowsInProportionToTheFleet(t *testing.T) {
	for name, of := range map[string]struct {
		n   int
		run sized
	}{
		"spread over three levels, one outer domain":  {2_000, threeLevels(1, false)},
		"spread over three levels, ten outer domains": {2_000, threeLevels(10, false)},
		"hard spread over three levels":               {2_000, threeLevels(1, true)},
		"spread over one level, a domain of each":     {4_000, oneLevel},
		"anti-affinity":                                {4_000, antiAffinity},
		"groups of one that grow from ten":             {2_000, groupsOfOne},
		"a group in percent that is cut":               {4_000, groupsCut},
		"sets bound to a namespace":                    {2_000, setsBound},
		"sets that a placement names":                  {2_000, setsNamed},
		"namespaces with a binding":                    {16_000, namespacesBound},
		"a budget that holds most of those that leave": {4_000, budgetSpent},
		"scores of an add-on":                          {4_000, addOnScores},
		"balance beside as many placements":            {2_000, balanced},
	} {
		t.Run(name, func(t *testing.T) {
			n := of.n
			if os.Getenv("BERTH_LONG") != "" {
				n = 8_000
			}
			grows(t, n, of.run)
		})
	}
}

// grows fails if the size n takes more than mostGrowth times as long as a fraction of it.
func grows(t *testing.T, n int, of sized) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector shares its cores with other processes
	sizes := [2]int{n / times, n}
	small, wantSmall := of(t, sizes[0])
	large, wantLarge := of(t, sizes[1])
	least := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	for attempt := range attempts {
		for i, run := range []func() int{small, large} {
			runtime.GC()
			start := time.Now()
			got := run()
			least[i] = min(least[i], time.Since(start))
			if want := []int{wantSmall, wantLarge}[i]; got != want {
				t.Fatalf("of %d: %d, want %d", sizes[i], got, want)
			}
		}
		if attempt+1 >= fewest && least[1] < mostGrowth*least[0] {
			t.Logf("%v at %d, %v at %d: %.2f times as long", least[0], sizes[0], least[1], sizes[1], float64(least[1])/float64(least[0]))
			return
		}
	}
	t.Errorf("%v at %d and %v at %d: %.2f times as long, want less than %d", least[0], sizes[0], least[1], sizes[1],
		float64(least[1])/float64(least[0]), mostGrowth)
}
