package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
)

// NewRoot returns the command `kubectl berth` with every command below it.
func NewRoot(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-berth",
		Short: "Decide which clusters a workload runs on, and say why",
		Long: `Berth decides which clusters of a fleet a workload runs on. This plugin shows what it decides.

It exits with 0 when all is well, with 1 when a check that was asked for fails, and with 2 when the input or the
command line is wrong.`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl berth"},
		Args:              unknownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	streams = safe(streams)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{cmd, err} })
	root.AddCommand(newGet(streams, clock), newTree(streams, clock), newRollout(streams, clock), newExplain(streams, clock), newHistory(streams, clock),
		newDiff(streams, clock), newSimulate(streams, clock), newTest(streams), newCompletion(streams), newVersion(streams))
	return root
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{cmd, fmt.Errorf("unknown command %q", args[0])}
	}
	return nil
}
