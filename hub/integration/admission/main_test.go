// Package admission tests which writes are allowed. It uses a real API server and roles, users with client certificates, and a manager
// in its own process with the permissions that it has in a cluster.
//
// The tests share one hub and one manager, and each uses its own names. They do not run in parallel, since some stop the manager.
package admission

import (
	"os"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	code := hubtest.Main(m, &shared, hubtest.Options{})
	stopManager()
	os.Exit(code)
}
