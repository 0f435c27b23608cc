package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/rollouts"
)

const statusLong = `Show how far the rollout of a ManifestWorkReplicaSet is: its phase, its placements, and the clusters that have not succeeded, each with
the reason.

--watch shows it live until it ends: a frame that is drawn again on a terminal, and a line for each change elsewhere. The exit code is 0
when the rollout has finished within maxFailures, 3 where it is paused or waits for a person, and 1 where it failed, stands still for another
reason, or has not ended after --timeout. The reason and the next command are printed.

You need the permission to get the set, its placements and their decisions. Without the permission to list ManifestWorks in all
namespaces, and the kept templates in that of the set (controllerrevisions, and formertemplates while the former one has a Secret), the
manager lists the clusters that you may see. Where no manager serves its views, there are only the numbers in the
status of the set.`

const statusExamples = `  # How far is the rollout of the set web, and what holds it up?
  kubectl berth rollout status web -n shop

  # Follow it to the end, in a pipeline
  kubectl berth rollout status web -n shop --watch --timeout 30m

  # Every cluster, as data
  kubectl berth rollout status web -n shop -o json`

// statusOptions is the command line of `kubectl berth rollout status`.
type statusOptions struct {
	streams genericiooptions.IOStreams
	clock   clock.PassiveClock
	flags   *reader.HubFlags

	output  command.OutputFlag
	all     bool
	watch   bool
	timeout time.Duration
}

func newStatus(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &statusOptions{streams: streams, clock: clock, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use:               "status SET [flags]",
		Short:             "Show how far the rollout of a set of works is",
		Long:              statusLong,
		Example:           statusExamples,
		Args:              oneWorkSet,
		ValidArgsFunction: completion.Of(o.flags).One(reader.WorkSetKind()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return command.NewUsageError(cmd, err)
			}
			if o.watch {
				return o.watchRollout(cmd.Context(), args[0])
			}
			return o.run(cmd.Context(), args[0])
		},
		DisableFlagsInUseLine: true,
	}
	o.output.Add(cmd, "`form` of the result: table, yaml or json", "table", "yaml", "json")
	cmd.Flags().BoolVar(&o.all, "all", false, "list every cluster in the table")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "show the rollout until it has finished or stands still")
	cmd.Flags().DurationVar(&o.timeout, "timeout", defaultWatch, "how `long` to watch at most")
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

// defaultWatch is how long a rollout is watched at most.
const defaultWatch = time.Hour

// check checks the flags.
func (o *statusOptions) check() error {
	switch {
	case o.watch && o.output.Form != "table":
		return errors.New("--watch and -o exclude each other: leave one of them out")
	case o.watch && o.all:
		return errors.New("--watch and --all exclude each other: leave one of them out")
	case o.timeout <= 0:
		return errors.New("--timeout must be more than 0, such as 30m")
	default:
		return o.output.Check()
	}
}

// oneWorkSet checks that the command line has the name of one set.
func oneWorkSet(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return command.NewUsageError(cmd, fmt.Errorf("name one ManifestWorkReplicaSet: %s NAME", cmd.CommandPath()))
	}
	return nil
}

func (o *statusOptions) run(ctx context.Context, name string) error {
	hub, key, err := o.caller().Connect(name)
	if err != nil {
		return err
	}
	now := o.clock.Now()
	report, err := o.caller().Report(ctx, hub, key, now)
	if err != nil {
		return err
	}
	return printer.WriteBuffered(o.streams.Out, func(w io.Writer) error {
		if o.output.Form == "table" {
			return rollouts.PrintTable(w, report, printer.ScreenOf(o.streams.Out, os.Getenv), now, o.all)
		}
		return printer.WriteData(w, o.output.Form, report)
	})
}

// caller is the user of the command.
func (o *statusOptions) caller() rollouts.Caller {
	return rollouts.Caller{Flags: o.flags, ErrOut: o.streams.ErrOut}
}
