// Package usage tests the scores that berth-agent reports about its member, with a hub whose manager gives the agent its permissions and
// places by the scores, and a member in a second process.
package usage

import (
	"os"
	"testing"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

// hub is the hub of all tests, member the member of the agent.
var hub, member *hubtest.Hub

func TestMain(m *testing.M) {
	os.Exit(hubtest.MainWithMember(m, hubtest.Shared{Hub: &hub, Options: hubtest.Options{Manager: true}},
		hubtest.Shared{Hub: &member, Options: hubtest.Options{Manifests: config.MemberCRDs()}}))
}
