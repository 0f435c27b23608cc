// Package placement tests the placement loop against the real thing: a real API server, and managers that are
// processes of their own, with the very permissions that they have in a cluster.
//
// The tests share one hub. Managers decide every placement of a hub, so only one test runs at a time; each has its own
// namespace, cluster set and clusters, and removes them at its end.
package placement

import (
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

// testTimeout is far more than anything here needs on an idle machine: what is waited for is never a matter of speed.
const testTimeout = 120 * time.Second

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	code := hubtest.Main(m, &shared, hubtest.Options{})
	shutdown()
	os.Exit(code)
}
