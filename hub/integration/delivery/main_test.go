// Package delivery tests the controller of sets of works on a real hub, with the permissions of config/delivery and agents that have the
// role of the agents of members. The tests write the decisions of placements and the reports of agents.
//
// The tests share one hub. Each has its own namespaces and its own manager.
package delivery

import (
	"io/fs"
	"os"
	"testing"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

var shared *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.Main(m, &shared, hubtest.Options{Folders: map[string]fs.FS{
		"delivery":     config.Delivery(),
		"registration": config.Registration(),
	}}))
}

// startManager starts a manager with the controller of sets alone, until the end of the test.
func startManager(t *testing.T, args ...string) *hubtest.Manager {
	t.Helper()
	return hubtest.StartManager(t, shared, hubtest.ManagerOptions{Args: append(args, "--controllers=replicaset")})
}
