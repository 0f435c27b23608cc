// Package tenancy tests sets, bindings, grants and the roles of Berth on a real hub, with real users and real RBAC. The manager
// is a process with the permissions of a cluster.
//
// The tests share one hub and one manager without admission webhooks, because the controllers must not depend on them. They use
// different names, which unique returns.
package tenancy

import (
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

// testTimeout is far longer than any wait of the tests. No test measures speed.
const testTimeout = 60 * time.Second

var (
	shared *hubtest.Hub
	// steady is the shared manager. It is stopped while a test runs its own manager.
	steady *hubtest.Manager
)

func TestMain(m *testing.M) {
	code := hubtest.Main(m, &shared, hubtest.Options{})
	if steady != nil {
		steady.Stop()
	}
	os.Exit(code)
}

// sharedManager starts the shared manager if it does not run, and checks its log at the end of the test.
func sharedManager(t *testing.T) {
	t.Helper()
	if steady == nil {
		steady = hubtest.StartManager(t, shared, hubtest.ManagerOptions{Shared: true})
	}
	m := steady
	t.Cleanup(func() { m.CheckLog(t) })
}

// stopSharedManager stops the shared manager. The next test that needs it starts it again.
func stopSharedManager(t *testing.T) {
	t.Helper()
	if steady != nil {
		steady.Stop()
		steady.CheckLog(t)
		steady = nil
	}
}
