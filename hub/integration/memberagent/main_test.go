// Package memberagent tests berth-agent between two real API servers: the hub, and a member in a second process. The test does
// what the controllers of the hub do: it creates the namespace, the lease and the permissions, approves and signs.
package memberagent

import (
	"context"
	"fmt"
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
	var err error
	if member, err = startMember(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := hubtest.Main(m, &hub, hubtest.Options{})
	if err := member.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func startMember(ctx context.Context) (*hubtest.Hub, error) {
	return hubtest.Start(ctx, hubtest.Options{Manifests: config.MemberCRDs()})
}
