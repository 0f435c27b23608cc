// Command berth-hub runs a whole hub in one process.
//
// It passes the parts of Berth to the command line of hub/internal/cli, and turns an error into a message and an exit code.
package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/internal/cli"
)

func main() {
	command := cli.Command(wiring())
	if err := command.ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "berth-hub:", err)
		os.Exit(1)
	}
}

// wiring runs the manager as its service account in a cluster, so that it has the same permissions here.
func wiring() cli.Config {
	manager := newManager()
	return cli.Config{
		Manifests:     append([]fs.FS{config.CRDs(), config.Discovery()}, config.Access()...),
		Manager:       manager.prepare,
		ManagerFlags:  manager.addFlags,
		ManagerUser:   "system:serviceaccount:berth-system:berth",
		ManagerGroups: []string{"system:serviceaccounts", "system:serviceaccounts:berth-system"},

		MemberManifests: []fs.FS{config.MemberCRDs(), config.MemberGuard()},
		Agent:           runAgent,
		Components:      components(),
	}
}
