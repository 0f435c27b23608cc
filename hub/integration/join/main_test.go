// Package join tests what the hub does for a cluster from its acceptance to its deletion, and which certificate requests it approves. It
// runs against a real API server, with a manager in a process of its own that has the permissions of config/registration only.
package join

import (
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

// testTimeout is far more than anything here needs on an idle machine.
const testTimeout = 120 * time.Second

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Manifests: config.Registration()}))
}

// startManager starts a manager that registers clusters.
func startManager(t *testing.T) *hubtest.Manager {
	t.Helper()
	return hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: []string{"--controllers=*,acceptance,csr"}})
}
