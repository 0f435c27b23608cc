// Package usage tests the scores that berth-agent reports about its member, with a hub whose manager gives the agent its permissions and
// places by the scores, and a member in a second process.
package usage

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

// hub is the hub of all tests, member the member of the agent.
var hub, member *hubtest.Hub

func TestMain(m *testing.M) {
	var err error
	if member, err = hubtest.Start(context.Background(), hubtest.Options{Manifests: config.MemberCRDs()}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := hubtest.Main(m, &hub, hubtest.Options{Manager: true})
	if err := member.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
