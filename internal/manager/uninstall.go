package manager

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berth-project/berth/internal/install/uninstall"
)

// newUninstallCommand returns the command "berth uninstall", which a Job runs after the manager's Deployment is deleted.
func newUninstallCommand() *cobra.Command {
	var kubeconfig string
	command := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the webhooks, conversions and APIService of a manager that no longer runs",
		Long: `Remove what makes the API server call a manager that no longer runs: its webhooks, the conversion of add-ons, and the APIService of the views.
Without this, the API server refuses the writes that the webhooks guard.

"kubectl berth uninstall" does the same, removes policies and finalizers too, and has a dry run.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options := DefaultOptions()
			options.Kubeconfig = kubeconfig
			return removeServers(command.Context(), command.OutOrStdout(), options)
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "path of the kubeconfig of the hub; empty: in-cluster, or $KUBECONFIG")
	return command
}

func removeServers(ctx context.Context, out io.Writer, options Options) error {
	restConfig, err := hubConfig(options)
	if err != nil {
		return err
	}
	hub, err := uninstall.NewClient(restConfig)
	if err != nil {
		return err
	}
	steps, err := uninstall.Servers(ctx, hub)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if err := uninstall.Apply(ctx, hub, step); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, step); err != nil {
			return fmt.Errorf("writing the progress: %w", err)
		}
	}
	return nil
}
