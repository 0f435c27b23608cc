// Package explain tests the explanations of a manager on a real hub. The manager serves the views, and the users have the
// permissions of their roles.
//
// The tests share one hub and one manager, and use different namespaces.
package explain

import (
	"os"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	code := hubtest.Main(m, &shared, hubtest.Options{})
	shutdown()
	os.Exit(code)
}
