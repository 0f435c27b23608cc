// Package agent assembles the agent of a member: it joins the member to a hub, renews its lease and reports its status.
//
// It owns the command and the order of the phases: bootstrap while there is no valid certificate, and otherwise a session with
// the hub. The parts lie in the packages below. It imports no controller and not the engine. The invariant: the agent changes
// nothing on the member but its own Secret, its records, and the objects of the works of its cluster.
package agent

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/berth-project/berth/internal/kube/version"
)

// gcPercent trades a little CPU time for memory: the agent allocates little and runs everywhere.
const gcPercent = 40

// NewCommand returns the command "berth-agent".
func NewCommand() *cobra.Command {
	options := DefaultOptions()
	root := &cobra.Command{
		Use:   "berth-agent",
		Short: "Join this cluster to a hub and report it",
		Long: `Join a cluster, the member, to a hub, and report it while it runs.

With a bootstrap kubeconfig and no stored certificate the agent creates the ManagedCluster if its identity may, requests a
certificate, and waits until an administrator of the hub approves it and accepts the cluster. From then on it renews the lease,
reports health, version, capacity and claims, and renews its certificate.`,
		Example: `  # Beside the member
  berth-agent --cluster-name edge-1 --bootstrap-kubeconfig bootstrap.kubeconfig \
    --hub-kubeconfig-dir /var/lib/berth-agent --member-kubeconfig member.kubeconfig`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(gcPercent)
			}
			return Run(command.Context(), options)
		},
	}
	options.AddFlags(root.Flags())
	root.AddCommand(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(command.OutOrStdout(), version.Version())
			return err
		},
	})
	return root
}
