package manager

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-project/berth/internal/kube/version"
)

// NewCommand returns the command "berth".
func NewCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "berth",
		Short:         "Berth decides which clusters of a fleet a workload runs on",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newManagerCommand(), newDefinitionsCommand(), newUninstallCommand(), newCheckCommand(), newVersionCommand())
	return root
}

func newManagerCommand() *cobra.Command {
	options := DefaultOptions()
	command := &cobra.Command{
		Use:   "manager",
		Short: "Run the controllers against a hub",
		Long: `Run the controllers against a hub: any Kubernetes API server with the definitions in config/crd installed.

The manager does not start if a definition lacks a version or a field that it needs. The error names what is missing.`,
		Example: `  # Against the hub of the current kubeconfig
  berth manager --leader-elect=false

  # All controllers but one
  berth manager --kubeconfig hub.kubeconfig --controllers='*,-placement'`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return Run(command.Context(), options) },
	}
	options.AddFlags(command.Flags())
	return command
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(command.OutOrStdout(), version.Version())
			return err
		},
	}
}
