//go:build slow

package attack

import (
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

// TestTenantsGainNothingInManySteps is TestTenantsGainNothing for longer.
func TestTenantsGainNothingInManySteps(t *testing.T) {
	if hubtest.LongTests() {
		tenantsGainNothing(t, longSteps)
		return
	}
	tenantsGainNothing(t, slowSteps)
}
