//go:build slow

// Package waves tests a rollout by decision groups over a fleet: two groups of canaries come first, and then groups of a fixed size. The
// agents of most clusters run in this process with simulated members. Three clusters are members with an API server and an agent of their
// own, one in each group of canaries and one among the rest.
//
// The short variant has 40 simulated clusters. With BERTH_LONG=1 there are 310, and 150 in a group.
package waves

import (
	"context"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

// size is the size of a variant.
type size struct {
	// simulated is the number of simulated clusters, canaries the size of each group of canaries, group that of the other groups.
	simulated, canaries, group int
	// timeout is far longer than any wait.
	timeout time.Duration
}

func sizeOf() size {
	if hubtest.LongTests() {
		return size{simulated: 310, canaries: 10, group: 150, timeout: 20 * time.Minute}
	}
	return size{simulated: 40, canaries: 3, group: 20, timeout: 3 * time.Minute}
}

func (s size) eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	hubtest.Eventually(t, s.timeout, check)
}
