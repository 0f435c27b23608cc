package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/berth-project/berth/hub/embed"
	"github.com/berth-project/berth/hub/internal/datadir"
)

const (
	discoveryQPS   = 50
	discoveryBurst = 300
)

// kubectlCommand embeds kubectl, for users who have not installed it. It uses the hub
// in the default data folder, unless KUBECONFIG or --kubeconfig selects another hub.
func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl",
		Short:              "kubectl, talking to this hub unless KUBECONFIG is set",
		DisableFlagParsing: true,
		RunE: func(command *cobra.Command, args []string) error {
			if err := preferHub(); err != nil {
				return err
			}
			if err := embed.StampVersion(); err != nil {
				return err
			}
			runKubectl(command, args)
			return nil
		},
	}
}

// runKubectl ends the process on failure, with kubectl's own messages and codes.
func runKubectl(command *cobra.Command, args []string) {
	streams := genericiooptions.IOStreams{In: command.InOrStdin(), Out: command.OutOrStdout(), ErrOut: command.ErrOrStderr()}
	config := genericclioptions.NewConfigFlags(true).
		WithDeprecatedPasswordFlag().
		WithDiscoveryQPS(discoveryQPS).
		WithDiscoveryBurst(discoveryBurst).
		WithWarningPrinter(streams)
	kubectl := cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
		PluginHandler: cmd.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes),
		Arguments:     append([]string{"kubectl"}, args...),
		ConfigFlags:   config,
		IOStreams:     streams,
	})
	kubectl.SetArgs(args)
	if err := cli.RunNoErrOutput(kubectl); err != nil {
		cmdutil.CheckErr(err)
	}
}

// preferHub makes the hub in the default data folder the default of kubectl.
func preferHub() error {
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" {
		return nil
	}
	path := filepath.Join(defaultDataDir(), datadir.AdminKubeconfig)
	if _, err := os.Stat(path); err != nil {
		return nil //nolint:nilerr // no hub here: kubectl's own defaults apply
	}
	if err := os.Setenv(clientcmd.RecommendedConfigPathEnvVar, path); err != nil {
		return fmt.Errorf("choosing the hub's kubeconfig: %w", err)
	}
	return nil
}
