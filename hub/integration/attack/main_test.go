// Package attack sends random requests of tenants, legal and illegal, to a real hub, and checks the result after each step. No
// slice names a cluster that its namespace may not reach. No decision of another tenant moves, not even for an instant. No
// forbidden object is stored. The hub responds in time.
//
// The tenants are users with certificates and the roles of Berth: an editor, a binder and a set admin each. Some of their clusters
// have agents, with the permissions of an agent or with every permission. They change nothing but reports on their own cluster. The test
// computes the reachable clusters of a namespace again, from the stored objects, by loops that are independent of the engine.
//
// A run is a seed and a number of steps. A failed run prints its seed, and -seed repeats it. The seed does not determine the
// order of concurrent requests.
package attack

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

const (
	// latencyLimit is how soon the hub responds on an idle machine; see latencyProbe.
	latencyLimit = time.Second
	// steps is the number of steps of a run, slowSteps of one of make slow, and longSteps of one of make long.
	steps, slowSteps, longSteps = 20, 500, 10_000
)

var (
	seed  = flag.Uint64("seed", 0, "the seed of the run; 0 is a new one")
	count = flag.Int("steps", 0, "the number of steps of the run; 0 is the default")
)

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manifests: config.WebhookRoles(), TaintUnjoined: true}))
}
