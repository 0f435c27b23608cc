package attack

import (
	"math/rand/v2"
	"testing"
)

// TestTenantsGainNothing sends random requests of tenants, legal and illegal. No namespace gets a cluster that it may not reach. No
// decision of another tenant changes. The hub responds in time.
func TestTenantsGainNothing(t *testing.T) { tenantsGainNothing(t, steps) }

func tenantsGainNothing(t *testing.T, length int) {
	t.Helper()
	fresh := *seed
	if fresh == 0 {
		fresh = rand.Uint64()
	}
	if *count > 0 {
		length = *count
	}
	t.Logf("repeat the run with -seed %d", fresh)
	w := newTestHub(t, fresh)
	for range length {
		if w.step(); t.Failed() {
			t.Fatalf("failed at step %d of -seed %d; the last requests:\n%s", w.number, fresh, w.logText())
		}
	}
	w.reportCounts()
}
