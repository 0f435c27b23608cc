// Package memberagent tests berth-agent between two real API servers: the hub, and a member in a second process. The test does
// what the controllers of the hub do: it creates the namespace, the lease and the permissions, approves and signs.
package memberagent

import (
	"os"
	"testing"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

// leaseSeconds is the period of the leases, in seconds.
const leaseSeconds = 2

// hub is the hub of all tests, member the member of those that do not stop it.
var hub, member *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.MainWithMember(m, hubtest.Shared{Hub: &hub},
		hubtest.Shared{Hub: &member, Options: hubtest.Options{Manifests: config.MemberCRDs()}}))
}
