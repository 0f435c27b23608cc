// Package endtoend tests deliveries from a set to the objects on three members: what is left after kills and restores, and that no value of
// a Secret appears. The hub, the manager, the members and the agents are processes.
//
// A run of random kills prints its seed, and -seed repeats its choices. The timing of the processes is not determined. With BERTH_LONG=1
// the run has 200 rollouts.
package endtoend

import (
	"flag"
	"time"
)

const (
	// testTimeout is far more than any wait here needs on an idle machine.
	testTimeout = 2 * time.Minute
	// leaseSeconds is the period of the leases. The agents of a hub that returns reconnect within one period.
	leaseSeconds = 3
	// maxPause bounds the time between a change and a kill, and between two kills. A rollout to three members takes about a second.
	maxPause = 1500 * time.Millisecond
)

var seed = flag.Uint64("seed", 0, "the seed of the run; 0 is a new one")
