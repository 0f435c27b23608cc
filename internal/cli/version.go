package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	kubeversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/source"
	"github.com/berth-project/berth/internal/version"
)

func newVersion(streams genericiooptions.IOStreams) *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this plugin",
		Long: `Print the version of this plugin: the release, or the commit that it was built from. json and yaml have it under
clientVersion, as kubectl version does.`,
		Example: `  kubectl berth version
  kubectl berth version -o json | jq -r .clientVersion.gitVersion`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch output {
			case "":
				_, err := fmt.Fprintln(streams.Out, "kubectl-berth", version.String())
				return err
			case "json", "yaml":
				return printer.WriteBuffered(streams.Out, func(w io.Writer) error {
					return printer.WriteData(w, output, map[string]kubeversion.Info{"clientVersion": version.Get()})
				})
			default:
				return source.NewUsageError(cmd, fmt.Errorf("unknown output %q: use json or yaml, or leave it out", output))
			}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`form` of the version: json or yaml (default: a line)")
	registerCompletion(cmd, "output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// noArguments refuses arguments that are no flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return source.NewUsageError(cmd, fmt.Errorf("unexpected argument %q", args[0]))
	}
	return nil
}
