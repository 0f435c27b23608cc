package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
)

const completionLong = `Print a script with which a shell completes the command kubectl-berth: its flags, and the names of what is on the hub.

For kubectl berth no script is needed where kubectl's own completion is set up: kubectl runs an executable in the PATH, called
kubectl_complete-berth, that holds

  #!/bin/sh
  exec kubectl-berth __complete "$@"`

const completionExamples = `  # For this shell
  source <(kubectl-berth completion bash)
  source <(kubectl-berth completion zsh)
  kubectl-berth completion fish | source
  kubectl-berth completion powershell | Out-String | Invoke-Expression`

func newCompletion(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Print a script with which a shell completes commands and names",
		Long:      completionLong,
		Example:   completionExamples,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			script, err := completionScript(cmd.Root(), args)
			if err != nil {
				return command.NewUsageError(cmd, err)
			}
			return printer.WriteBuffered(streams.Out, script)
		},
		DisableFlagsInUseLine: true,
	}
}

// completionScript returns what writes the script for a shell.
func completionScript(root *cobra.Command, args []string) (func(io.Writer) error, error) {
	switch {
	case len(args) == 0:
		return nil, errors.New("say which shell: bash, zsh, fish or powershell")
	case len(args) > 1:
		return nil, fmt.Errorf("unexpected argument %q: one shell at a time", args[1])
	}
	switch args[0] {
	case "bash":
		return func(w io.Writer) error { return root.GenBashCompletionV2(w, true) }, nil
	case "zsh":
		return root.GenZshCompletion, nil
	case "fish":
		return func(w io.Writer) error { return root.GenFishCompletion(w, true) }, nil
	case "powershell":
		return root.GenPowerShellCompletionWithDesc, nil
	default:
		return nil, fmt.Errorf("unknown shell %q: use bash, zsh, fish or powershell", args[0])
	}
}
