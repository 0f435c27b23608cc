package placement

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

// manager is a running manager process whose metrics can be read.
type manager struct{ *hubtest.Manager }

// options configures a manager that runs the placement controller alone by default.
type options = hubtest.ManagerOptions

// steady is a manager that several tests use one after the other.
var steady *manager

// sharedManager returns the manager that is shared by tests which do not harm it.
func sharedManager(t *testing.T) *manager {
	t.Helper()
	if steady == nil {
		steady = launch(t, options{Race: true, Shared: true})
	}
	m := steady
	t.Cleanup(func() { m.CheckLog(t) })
	return m
}

// stopSharedManager stops the shared manager, for tests that start their own.
func stopSharedManager(t *testing.T) {
	t.Helper()
	shutdown()
}

func shutdown() {
	if steady != nil {
		steady.Stop()
		steady = nil
	}
}

// start runs the only manager of the hub, which ends with the test.
func start(t *testing.T, o options) *manager {
	t.Helper()
	stopSharedManager(t)
	return launch(t, o)
}

func launch(t *testing.T, o options) *manager {
	t.Helper()
	if !slices.ContainsFunc(o.Args, func(arg string) bool { return strings.HasPrefix(arg, "--controllers=") }) {
		o.Args = append(slices.Clip(o.Args), "--controllers=placement") // these tests count the writes and rights of this loop alone
	}
	o.AllowErrors = true // conflicts and refusals are what these tests are about
	return &manager{hubtest.StartManager(t, shared, o)}
}
