package command

import (
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// NewRoot returns the command `kubectl berth` with commands below it. What it writes itself goes to the streams as they are: give those
// of printer.SanitizeStreams.
func NewRoot(streams genericiooptions.IOStreams, below ...*cobra.Command) *cobra.Command {
	root := NewGroup("kubectl-berth", "Decide which clusters a workload runs on, and explain why", below...)
	root.Long = `Berth decides which clusters of a fleet a workload runs on. This plugin shows what it decides.

Exit codes: 0 when all is well, 1 when a requested check fails, 2 when the input or the command line is wrong.`
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl berth"}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions = cobra.CompletionOptions{DisableDefaultCmd: true}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(flagError)
	return root
}

// NewGroup returns a command that holds others and does nothing itself.
func NewGroup(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(below...)
	return cmd
}
