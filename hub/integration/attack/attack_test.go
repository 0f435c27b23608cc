package attack

import (
	"math/rand/v2"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

// TestTenantsGainNothing holds that random requests of tenants, legal and illegal, give no namespace a cluster that it may not
// reach, move no decision of another tenant, and keep the hub answering.
func TestTenantsGainNothing(t *testing.T) {
	fresh, length := *seed, *count
	if fresh == 0 {
		fresh = rand.Uint64()
	}
	if length == 0 {
		length = steps
		if hubtest.LongTests() {
			length = longSteps
		}
	}
	t.Logf("run it again with -seed %d", fresh)
	w := newTestHub(t, fresh)
	for range length {
		if w.step(); t.Failed() {
			t.Fatalf("failed at step %d of -seed %d; what happened last:\n%s", w.number, fresh, w.logText())
		}
	}
	w.reportCounts()
}
