// Package probe tests clusters without an agent between two real API servers: the hub with a manager that has the permissions of
// config/probe and config/registration, and a member in a second process, which gives the probe the permissions of config/probe/member.
package probe

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/hubtest"
	"github.com/berth-project/berth/internal/checkout"
)

// leaseSeconds is the period of the leases, in seconds.
const leaseSeconds = 2

// hub is the hub of all tests, member the member, and memberData its data folder.
var (
	hub, member *hubtest.Hub
	memberData  string
)

func TestMain(m *testing.M) {
	var err error
	if memberData, err = os.MkdirTemp("", "berth-probe-"); err == nil {
		member, err = startMember(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	manifests, err := hubtest.Merge(map[string]fs.FS{"probe": config.Probe(), "registration": config.Registration()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := hubtest.Main(m, &hub, hubtest.Options{Manifests: manifests})
	if err := member.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	_ = os.RemoveAll(memberData) // a leftover of a test
	os.Exit(code)
}

// startMember starts a member with the definitions of claims and the role of the probe.
func startMember(ctx context.Context) (*hubtest.Hub, error) {
	probe, err := checkout.Find("config/probe/member")
	if err != nil {
		return nil, err
	}
	manifests, err := hubtest.Merge(map[string]fs.FS{"claims": config.MemberCRDs(), "probe": os.DirFS(probe)})
	if err != nil {
		return nil, err
	}
	return hubtest.Start(ctx, hubtest.Options{DataDir: memberData, Manifests: manifests})
}
