// Package registration tests which clusters may be selected: clusters that have joined, are accepted and renew their leases, and
// simulated clusters. It uses a real API server, and a manager with all controllers and webhooks in its own process.
//
// The tests share one hub. The manager evaluates all clusters of a hub together, so only one test runs at a time.
package registration

import (
	"os"
	"testing"

	"github.com/berth-project/berth/hub/hubtest"
)

// leaseSeconds is the period of the leases, in seconds.
const leaseSeconds = 2

var shared *hubtest.Hub

func TestMain(m *testing.M) { os.Exit(hubtest.Main(m, &shared, hubtest.Options{})) }
