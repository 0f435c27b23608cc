// Package permission tests that the manager's roles have all that it needs, and nothing else: each verb of each rule is
// used on a tour through everything that the manager does, and without any one rule the tour fails.
package permission

import (
	"net"
	"os"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

var shared *hubtest.Hub

func TestMain(m *testing.M) { os.Exit(hubtest.Main(m, &shared, hubtest.Options{})) }

// launch starts a manager with everything on, which reaches the hub through the proxy. It is stopped after the test.
func launch(t *testing.T, via *proxy, views string) *hubtest.Manager {
	t.Helper()
	_, port, err := net.SplitHostPort(views)
	if err != nil {
		t.Fatal(err)
	}
	return hubtest.StartManager(t, shared, hubtest.ManagerOptions{
		Kubeconfig: via.Kubeconfig, Webhooks: true,
		AllowErrors: true, // for want of rules
		Args: []string{
			"--leader-elect=true", "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=200ms",
			"--view-bind-address=" + views, "--view-service-port=" + port,
		},
	})
}
