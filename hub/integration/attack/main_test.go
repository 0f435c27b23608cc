// Package attack lets tenants do random things, legal and illegal, to a real hub, and holds after each step that nothing
// came of it which must not: no slice of Berth's names a cluster that its namespace may not reach, no decision of another
// tenant moved, not even for an instant, nothing was stored that had to be refused, and the hub answers in time.
//
// The tenants are users with certificates and the roles that Berth hands out: an editor, a binder and a set admin each.
// What a namespace may reach is computed here once more, from the stored objects, by loops that know nothing of the engine.
//
// A run is a seed and a number of steps. The seed of a run that fails is printed; with -seed it is run again. What happens at the same time on two sides is not in the seed.
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
	// testTimeout is far more than anything here needs on an idle machine: what is waited for is never a matter of speed.
	testTimeout = 2 * time.Minute
	// latencyLimit is how soon the hub answers, on a machine that is not busy with something else; see world.probe.
	latencyLimit = time.Second
	// steps is how long a run is, and longSteps how long one of make long is.
	steps, longSteps = 500, 10_000
)

var (
	seed  = flag.Uint64("seed", 0, "the seed of the run; 0 is a new one")
	count = flag.Int("steps", 0, "how many steps the run has; 0 is as many as usual")
)

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manifests: config.WebhookRoles(), TaintUnjoined: true}))
}
