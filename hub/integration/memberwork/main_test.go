// Package memberwork tests the delivery of works between two real API servers: the hub, and a member with controllers of workloads and
// fake nodes. The agent has the identity and the permissions of an agent on the hub.
package memberwork

import (
	"os"
	"testing"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

// hub and member are those of all tests.
var hub, member *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.MainWithMember(m, hubtest.Shared{Hub: &hub, Options: hubtest.Options{Manifests: config.Registration()}},
		hubtest.Shared{Hub: &member, Options: hubtest.Options{Manifests: config.MemberCRDs(), Args: []string{"--workloads"}}}))
}
