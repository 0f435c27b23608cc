// Command berth-hub runs a whole hub in one process.
//
// It only plugs Berth's parts into the command line of hub/internal/cli and
// turns an error into a message and an exit code.
package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/klog/v2"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/hub/internal/cli"
	"github.com/berth-project/berth/internal/app"
)

func main() {
	command := cli.Command(wiring())
	if err := command.ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "berth-hub:", err)
		os.Exit(1)
	}
}

// wiring runs the manager as the service account that it has in a cluster, so
// that it may do no more here than there.
func wiring() cli.Wiring {
	return cli.Wiring{
		Manifests:     append([]fs.FS{config.CRDs()}, config.Access()...),
		Manager:       manage,
		ManagerUser:   "system:serviceaccount:berth-system:berth",
		ManagerGroups: []string{"system:serviceaccounts", "system:serviceaccounts:berth-system"},
	}
}

// manage runs the manager. The hub keeps the log, and its ports are its own:
// the manager listens on none.
func manage(ctx context.Context, kubeconfig string) error {
	options := app.DefaultOptions()
	options.Kubeconfig = kubeconfig
	options.MetricsAddress, options.HealthAddress = "0", "0"
	options.Identity = "berth-hub" // its data folder is locked against a second one
	options.Logger = klog.NewKlogr()
	return app.Run(ctx, options)
}
