// Package failover tests decisions when clusters become silent. It uses a real API server, real leases that agents renew, and a
// manager process with all its controllers and webhooks and with the permissions of a cluster.
//
// The tests share one hub. The manager evaluates the health of all clusters of a hub together, so only one test runs at a time.
package failover

import (
	"os"
	"testing"
	"time"

	"github.com/berth-project/berth/hub/hubtest"
)

const (
	// leaseSeconds is the period of the leases, in seconds: short, and long enough for agents that share a busy machine. grace is
	// how long a cluster may be silent.
	leaseSeconds = 2
	grace        = 5 * leaseSeconds * time.Second
)

var shared *hubtest.Hub

func TestMain(m *testing.M) { os.Exit(hubtest.Main(m, &shared, hubtest.Options{})) }
