// Package tenancy tests sets, bindings, grants and the roles of Berth on a real hub, with real users and real RBAC. The manager
// is a process with the permissions of a cluster.
//
// The tests share one hub and one manager without admission webhooks, because the controllers must not depend on them. They use
// different names, which unique returns.
package tenancy

import (
	"os"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

var (
	shared *hubtest.Hub
	// steady is the shared manager. It is stopped while a test runs its own manager.
	steady = kit.SharedManager{Start: func(t testing.TB) *hubtest.Manager {
		return hubtest.StartManager(t, shared, hubtest.ManagerOptions{Shared: true})
	}}
)

func TestMain(m *testing.M) {
	code := hubtest.Main(m, &shared, hubtest.Options{})
	steady.Shutdown()
	os.Exit(code)
}
