package placement

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/hub/hubtest/kit"
)

// manager is a running manager process whose metrics can be read.
type manager struct{ *hubtest.Manager }

// options configures a manager. By default it runs only the placement controller.
type options = hubtest.ManagerOptions

// steady is a manager that several tests share.
var steady = kit.SharedManager{Start: func(t testing.TB) *hubtest.Manager { return launch(t, options{Shared: true}).Manager }}

// sharedManager returns the shared manager. A test must not stop or disturb it.
func sharedManager(t *testing.T) *manager {
	t.Helper()
	return &manager{steady.Require(t)}
}

// start runs the only manager of the hub until the end of the test.
func start(t *testing.T, o options) *manager {
	t.Helper()
	steady.Stop(t)
	return launch(t, o)
}

func launch(t testing.TB, o options) *manager {
	t.Helper()
	if !slices.ContainsFunc(o.Args, func(arg string) bool { return strings.HasPrefix(arg, "--controllers=") }) {
		o.Args = append(slices.Clip(o.Args), "--controllers=placement") // the tests count the writes and permissions of this controller only
	}
	o.AllowErrors = true // the tests cause conflicts and refusals
	return &manager{hubtest.StartManager(t, shared, o)}
}
