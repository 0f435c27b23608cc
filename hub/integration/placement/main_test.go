// Package placement tests the placement controller with a real API server, and managers in their own processes, with the permissions
// that they have in a cluster.
//
// The tests share one hub. Managers decide every placement of a hub, so only one test runs at a time. Each test has its own namespace,
// cluster set and clusters, and removes them at its end.
package placement

import (
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

// testTimeout is far longer than any wait of the tests on an idle machine. No test measures speed.
const testTimeout = 120 * time.Second

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	code := hubtest.Main(m, &shared, hubtest.Options{})
	steady.Shutdown()
	os.Exit(code)
}
