// Package memberwork tests the delivery of works between two real API servers: the hub, and a member with controllers of workloads and
// fake nodes. The agent has the identity and the permissions of an agent on the hub.
package memberwork

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
)

// hub and member are those of all tests.
var hub, member *hubtest.Hub

func TestMain(m *testing.M) {
	var err error
	if member, err = hubtest.Start(context.Background(), hubtest.Options{Manifests: config.MemberCRDs(), Args: []string{"--workloads"}}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := hubtest.Main(m, &hub, hubtest.Options{Manifests: config.Registration()})
	if err := member.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
