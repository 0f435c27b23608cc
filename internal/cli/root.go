package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/kube/suggest"
)

// NewRoot returns the command `kubectl berth` with every command below it.
func NewRoot(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-berth",
		Short: "Decide which clusters a workload runs on, and explain why",
		Long: `Berth decides which clusters of a fleet a workload runs on. This plugin shows what it decides.

Exit codes: 0 when all is well, 1 when a requested check fails, 2 when the input or the command line is wrong.`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl berth"},
		Args:              unknownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	streams = printer.SanitizeStreams(streams)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newGet(streams, clock), newDescribe(streams, clock), newTree(streams, clock), newRollout(streams, clock), newExplain(streams, clock), newHistory(streams, clock),
		newDecisions(streams, clock), newAddOn(streams, clock), newArgo(streams), newDiff(streams, clock), newSimulate(streams, clock), newTest(streams), newConsole(streams, clock),
		newToken(streams), newJoin(streams), newAccept(streams), newDeny(streams), newUnjoin(streams), newClusters(streams), newPreflight(streams, clock), newGather(streams, clock), newMigrate(streams), newTakeover(streams, clock), newUninstall(streams, clock), newCompletion(streams), newVersion(streams))
	return root
}

// unknownCommand reports an argument of a command that holds others, and the nearest of them.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	return reader.NewUsageError(cmd, fmt.Errorf("unknown command %q%s", args[0], suggest.DidYouMean(args[0], names)))
}

// flagError reports unknown flags. If the word before them is no command, it reports that word instead.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasAvailableSubCommands() && cmd.Flags().NArg() > 0 {
		return unknownCommand(cmd, cmd.Flags().Args())
	}
	missing, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || len(missing.GetSpecifiedName()) == 1 {
		return reader.NewUsageError(cmd, err)
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, "--"+flag.Name)
		}
	})
	return reader.NewUsageError(cmd, fmt.Errorf("%w%s", err, suggest.DidYouMean("--"+missing.GetSpecifiedName(), names)))
}
