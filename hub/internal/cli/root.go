// Package cli is the command line of berth-hub.
//
// It owns the flags and the output, one command per file. Package hub runs the
// hub. main passes the parts that run in it as a Config, so that this package
// links neither Berth's manager nor its manifests.
package cli

import (
	"context"
	"io/fs"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/berth-project/berth/hub"
)

// Config contains the parts of Berth that run in the hub.
type Config struct {
	// Manifests are Berth's resource definitions and roles.
	Manifests []fs.FS
	// Manager prepares Berth's manager. nil runs only the control plane.
	Manager func(ctx context.Context) (Manager, error)
	// ManagerFlags adds the manager's flags to the command that serves; nil adds none.
	ManagerFlags func(flags *pflag.FlagSet)
	// ManagerUser and ManagerGroups are the identity of the manager; empty for an administrator.
	ManagerUser   string
	ManagerGroups []string
	// MemberManifests are the definitions of the kinds that only members serve.
	MemberManifests []fs.FS
	// Agent runs the agent of a member until its context ends.
	Agent func(ctx context.Context, agent Agent) error
	// Components run the parts of Kubernetes. nil runs those that this process links.
	Components hub.Components
}

// Agent describes the agent of a member.
type Agent struct {
	// Cluster is the name of the cluster on its hub.
	Cluster string
	// Dir is the folder of its credential, and Bootstrap the path of the kubeconfig for the first one.
	Dir, Bootstrap string
	// Kubeconfig is the path of the kubeconfig of the member.
	Kubeconfig string
	// Driver is how the agent authenticates on the hub: "csr" or "token".
	Driver string
	// ReportUsage lets the agent report how much of the member is free, once in each UsageInterval.
	ReportUsage   bool
	UsageInterval time.Duration
}

// Manager is Berth's manager, ready to run.
type Manager struct {
	// Manifests are applied after those of the Config; they hold the address of the manager.
	Manifests []fs.FS
	// Ready returns once the manager provides all its services.
	Ready func(ctx context.Context, admin *rest.Config) error
	// Run runs the manager with its kubeconfig.
	Run func(ctx context.Context, kubeconfig string) error
}

// Command returns berth-hub itself, which serves, and its subcommands.
func Command(wiring Config) *cobra.Command {
	root := serveCommand(wiring)
	root.AddCommand(demoCommand(wiring), memberCommand(wiring), kubectlCommand(), kubeconfigCommand(), caCommand(), backupCommand(),
		restoreCommand(), exportCommand(), versionCommand())
	root.SilenceUsage = true
	root.SilenceErrors = true
	// Kubernetes' packages register their flags for every command.
	pflag.CommandLine.VisitAll(func(flag *pflag.Flag) { flag.Hidden = true })
	return root
}
