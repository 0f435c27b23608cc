package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/berth-project/berth/hub/embed"
	"github.com/berth-project/berth/internal/kube/version"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the hub and of what it embeds",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			linked := embed.LinkedVersions()
			_, err := fmt.Fprintf(command.OutOrStdout(), "berth-hub   %s\nkubernetes  %s\netcd        %s\ngo          %s\n",
				version.Version(), linked.Kubernetes, linked.Etcd, runtime.Version())
			if err != nil {
				return fmt.Errorf("printing versions: %w", err)
			}
			return nil
		},
	}
}
