package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/install/takeover"
	"github.com/berth-project/berth/internal/kube/phrase"
)

const takeoverLong = `Turn the controllers of Open Cluster Management on a hub off, so that Berth takes their place.

The command turns off, one after the other, the operator and its controllers of placements, registration and sets of works, and waits for the
end of each. Then it records every decision and work, as they were when nothing wrote them, in the ConfigMap berth-takeover of the namespace
open-cluster-management-hub. Nothing else changes: no decision moves and no work is written until Berth runs.

Without --yes the command prints what it would do and changes nothing. Afterwards install Berth, and compare with "takeover verify".
"takeover undo" turns the controllers on again.`

const takeoverExamples = `  # What would be turned off, and what is in the way
  kubectl berth takeover

  # Turn it off, then install Berth and compare
  kubectl berth takeover --yes
  kubectl berth takeover verify`

const (
	// stopTimeout and verifyTimeout are defaults of --timeout.
	stopTimeout   = 2 * time.Minute
	verifyTimeout = time.Minute
	// verifyInterval is the time between two comparisons.
	verifyInterval = 2 * time.Second
	// maxDifferences bounds how many differences are printed.
	maxDifferences = 20
)

// takeoverOptions are the flags of takeover and its commands.
type takeoverOptions struct {
	streams genericiooptions.IOStreams
	clock   clock.PassiveClock
	flags   *reader.HubFlags
	yes     bool
	// stopTimeout is for the end of one controller, verifyTimeout for the decisions of Berth.
	stopTimeout, verifyTimeout time.Duration
}

// NewTakeover returns the command that puts Berth in the place of OCM's controllers.
func NewTakeover(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &takeoverOptions{streams: streams, clock: clock, flags: reader.NewHubFlags()}
	cmd := o.command("takeover [flags]", "Turn OCM's controllers off, so that Berth takes their place", takeoverLong, takeoverExamples,
		o.takeOver)
	cmd.Args = command.UnknownCommand
	o.addYes(cmd, "turn them off; without this flag the command is a dry run")
	cmd.Flags().DurationVar(&o.stopTimeout, "timeout", stopTimeout, "`time` to wait for the end of each controller")
	verify := o.command("verify [flags]", "Compare the hub with the record of its takeover", takeoverVerifyLong,
		"  kubectl berth takeover verify", o.verify)
	verify.Flags().DurationVar(&o.verifyTimeout, "timeout", verifyTimeout, "`time` to wait until Berth has decided")
	undo := o.command("undo [flags]", "Turn OCM's controllers on again", takeoverUndoLong, "  kubectl berth takeover undo --yes", o.undo)
	o.addYes(undo, "turn them on; without this flag the command is a dry run")
	cmd.AddCommand(verify, undo)
	return cmd
}

// command returns a command that needs a client of the hub.
func (o *takeoverOptions) command(use, short, long, examples string, run func(context.Context, client.Client) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Example: examples, Args: command.NoArguments, DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hub, err := reader.NewClient(o.flags, o.streams.ErrOut, takeover.NewClient)
			if err != nil {
				return err
			}
			return run(cmd.Context(), hub)
		},
	}
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

func (o *takeoverOptions) addYes(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&o.yes, "yes", false, usage)
}

func (o *takeoverOptions) takeOver(ctx context.Context, hub client.Client) error {
	plan, err := takeover.NewPlan(ctx, hub, o.clock.Now())
	if err != nil {
		return err
	}
	record, err := takeover.Load(ctx, hub)
	if err != nil && !errors.Is(err, takeover.ErrNoRecord) {
		return err
	}
	begun := err == nil
	if len(plan.Blocks) > 0 || !o.yes || len(plan.Stop) == 0 && !begun {
		interrupted := begun && record.State == nil
		if err := printer.WriteBuffered(o.streams.Out, func(w io.Writer) error { return printTakeover(w, plan, interrupted) }); err != nil {
			return err
		}
		if len(plan.Blocks) > 0 {
			return command.UnsatisfiedError{}
		}
		return nil
	}
	record, err = takeover.Begin(ctx, hub, plan, o.clock.Now())
	if err != nil {
		return err
	}
	for _, workload := range record.Stopped { // those of an interrupted takeover too: their pods may not have ended
		switch err := takeover.Stop(ctx, hub, workload, o.stopTimeout); {
		case apierrors.IsNotFound(err):
			printer.Printf(o.streams.Out, "%s: it is gone\n", workload)
		case err != nil:
			return err
		default:
			printer.Printf(o.streams.Out, "%s: scaled from %d to 0, its pods have ended\n", workload, workload.Replicas)
		}
	}
	if record, err = takeover.Finish(ctx, hub, record); err != nil {
		return err
	}
	printer.Printf(o.streams.Out, "ConfigMap %s/%s: %s and %s recorded\n", takeover.RecordNamespace, takeover.RecordName,
		phrase.Count(len(record.State.Decisions), "decision"), phrase.Count(record.State.WorkCount(), "work"))
	return printer.WriteBuffered(o.streams.Out, func(w io.Writer) error {
		printFindings(w, plan.Notes)
		_, err := fmt.Fprintln(w, "Nothing decides now. Install Berth, then: kubectl berth takeover verify")
		return err
	})
}

// printTakeover writes a plan. Interrupted is whether a takeover has begun and not ended.
func printTakeover(w io.Writer, plan takeover.Plan, interrupted bool) error {
	printSteps(w, plan.Blocks)
	for i, workload := range plan.Stop {
		printer.Printf(w, "would scale %s from %d to 0: %s\n", workload, workload.Replicas, plan.Conflicts[i])
	}
	printFindings(w, plan.Notes)
	switch {
	case len(plan.Blocks) > 0:
		printer.Printf(w, "%s left before a takeover.\n", phrase.Count(len(plan.Blocks), "step"))
	case len(plan.Stop) == 0 && interrupted:
		printer.Printf(w, "A takeover was interrupted: add --yes to continue it.\n")
	case len(plan.Stop) == 0:
		printer.Printf(w, "Everything that conflicts with Berth is off.\n")
	default:
		printer.Printf(w, "%s. This was a dry run: add --yes to turn them off.\n", phrase.Count(len(plan.Stop), "controller"))
	}
	return nil
}
