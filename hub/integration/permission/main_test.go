// Package permission tests that the manager's roles are minimal. The lifecycle of a manager uses each verb of each rule, and
// fails without any one rule.
package permission

import (
	"net"
	"os"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

var shared *hubtest.Hub

func TestMain(m *testing.M) { os.Exit(hubtest.Main(m, &shared, hubtest.Options{})) }

// launch starts a manager with all features, which reaches the hub through the proxy. It is stopped after the test.
func launch(t *testing.T, via *proxy, views string) *hubtest.Manager {
	t.Helper()
	_, port, err := net.SplitHostPort(views)
	if err != nil {
		t.Fatal(err)
	}
	return hubtest.StartManager(t, shared, hubtest.ManagerOptions{
		Kubeconfig: via.Kubeconfig, Webhooks: true,
		AllowErrors: true, // rules are missing
		Args: []string{
			// a busy machine must not end it
			"--leader-elect=true", "--leader-elect-lease-duration=30s", "--leader-elect-renew-deadline=25s", "--leader-elect-retry-period=200ms",
			"--view-bind-address=" + views, "--view-service-port=" + port,
		},
	})
}
