package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/internal/cli/delivery"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/source"
	"github.com/berth-project/berth/rollout"
)

const rolloutStatusLong = `Show how far a ManifestWorkReplicaSet is: for every selected cluster, whether its work succeeded, is under way, waits for
what, or fails why.

The answer is computed from the objects on the hub, as the manager does it. You need the permission to list the works of all
clusters; without it, the stored status of the set is shown.

With --watch, a line is printed whenever the progress changes, until the rollout is finished or stands still. Exit code 1
means that it stands still after failures.`

const rolloutStatusExamples = `  # How far is the set web?
  kubectl berth rollout status web -n shop

  # Wait until the rollout ends
  kubectl berth rollout status web -n shop --watch`

// watchInterval is how often the objects are read again.
const watchInterval = 500 * time.Millisecond

// rolloutSetOptions is the command line of the commands about the rollout of a set.
type rolloutSetOptions struct {
	streams genericiooptions.IOStreams
	flags   *source.HubFlags
	clock   clock.PassiveClock

	output, group, placement string
	watch                    bool
}

// newRolloutSet returns a command about the rollout of one set.
func newRolloutSet(streams genericiooptions.IOStreams, clock clock.PassiveClock, cmd *cobra.Command, run func(context.Context, *rolloutSetOptions, client.ObjectKey) error) (*cobra.Command, *rolloutSetOptions) {
	o := &rolloutSetOptions{streams: streams, flags: source.NewHubFlags(), clock: clock}
	cmd.ValidArgsFunction = completer{o.flags}.completeOne(source.DeliveryKind())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return source.NewUsageError(cmd, fmt.Errorf("name one ManifestWorkReplicaSet: kubectl berth rollout %s NAME", cmd.Name()))
		}
		key, err := o.key(args[0])
		if err != nil {
			return err
		}
		return run(cmd.Context(), o, key)
	}
	cmd.DisableFlagsInUseLine = true
	o.flags.Add(cmd.Flags())
	completer{o.flags}.completeHubFlags(cmd)
	return cmd, o
}

// key reads NAME or NAMESPACE/NAME.
func (o *rolloutSetOptions) key(text string) (client.ObjectKey, error) {
	if namespace, name, qualified := strings.Cut(text, "/"); qualified {
		return client.ObjectKey{Namespace: namespace, Name: name}, nil
	}
	namespace, _, err := o.flags.Loader().Namespace()
	if err != nil {
		return client.ObjectKey{}, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return client.ObjectKey{Namespace: namespace, Name: text}, nil
}

func (o *rolloutSetOptions) connect() (client.Client, error) {
	config, err := o.flags.RESTConfig(o.streams.ErrOut)
	if err != nil {
		return nil, err
	}
	return delivery.NewClient(config)
}

func newRolloutStatus(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	cmd, o := newRolloutSet(streams, clock, &cobra.Command{
		Use: "status NAME [flags]", Short: "Show how far the delivery of a set is, and why", Long: rolloutStatusLong, Example: rolloutStatusExamples,
	}, func(ctx context.Context, o *rolloutSetOptions, key client.ObjectKey) error { return o.status(ctx, key) })
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`form` of the answer: json or yaml (default: a summary)")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on until the rollout is finished or stands still")
	registerCompletion(cmd, "output", completeOutputs([]string{"json", "yaml"}))
	return cmd
}

// rolloutStandsError sets exit code 1. It prints nothing, because the answer says why.
type rolloutStandsError struct{}

func (rolloutStandsError) Error() string { return "the rollout stands still after failures" }

func (o *rolloutSetOptions) status(ctx context.Context, key client.ObjectKey) error {
	if o.output != "" {
		if err := checkOutput(o.output, "json", "yaml"); err != nil {
			return err
		}
		if o.watch {
			return errors.New("--watch prints lines for a terminal: leave --output out")
		}
	}
	hub, err := o.connect()
	if err != nil {
		return err
	}
	report, err := o.report(ctx, hub, key)
	for last := ""; err == nil && o.watch && !ended(report); {
		if line := report.Line(); line != last {
			printer.Printf(o.streams.Out, "%s\n", line)
			last = line
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(watchInterval):
		}
		report, err = o.report(ctx, hub, key)
	}
	if err != nil {
		return err
	}
	err = printer.WriteBuffered(o.streams.Out, func(w io.Writer) error {
		if o.output != "" {
			return printer.WriteData(w, o.output, report)
		}
		return delivery.Print(w, report, printer.ScreenOf(o.streams.Out, os.Getenv))
	})
	if err == nil && o.watch && report.Phase != string(rollout.PhaseFinished) {
		return rolloutStandsError{}
	}
	return err
}

func (o *rolloutSetOptions) report(ctx context.Context, hub client.Client, key client.ObjectKey) (*delivery.Report, error) {
	found, err := delivery.Read(ctx, hub, key, o.clock.Now())
	if err != nil {
		return nil, err
	}
	return found.Report(), nil
}

// ended reports whether nothing moves before somebody changes something.
func ended(report *delivery.Report) bool {
	switch rollout.Phase(report.Phase) {
	case rollout.PhaseFinished:
		return report.Progress.UnderWay == 0
	case rollout.PhaseBreached, rollout.PhaseMisconfigured:
		return report.Progress.UnderWay == 0
	default:
		return false
	}
}

func newRolloutPause(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	cmd, _ := newRolloutSet(streams, clock, &cobra.Command{
		Use: "pause NAME [flags]", Short: "Start no more clusters of a rollout",
		Long:    "Start no more clusters of a rollout. Clusters that have started go on, and their deadlines run.",
		Example: "  # Hold the rollout of the set web\n  kubectl berth rollout pause web -n shop",
	}, func(ctx context.Context, o *rolloutSetOptions, key client.ObjectKey) error {
		return o.setPaused(ctx, key, true)
	})
	return cmd
}

func newRolloutResume(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	cmd, _ := newRolloutSet(streams, clock, &cobra.Command{
		Use: "resume NAME [flags]", Short: "Go on with a paused rollout",
		Long:    "Go on with a paused rollout, at the pace of its strategy.",
		Example: "  # Go on with the rollout of the set web\n  kubectl berth rollout resume web -n shop",
	}, func(ctx context.Context, o *rolloutSetOptions, key client.ObjectKey) error {
		return o.setPaused(ctx, key, false)
	})
	return cmd
}

func (o *rolloutSetOptions) setPaused(ctx context.Context, key client.ObjectKey, paused bool) error {
	hub, err := o.connect()
	if err != nil {
		return err
	}
	changed, err := delivery.SetPaused(ctx, hub, key, paused)
	if err != nil {
		return err
	}
	done := map[bool]string{true: "paused", false: "resumed"}[paused]
	if !changed {
		done += " already"
	}
	printer.Printf(o.streams.Out, "manifestworkreplicaset %s %s\n", key, done)
	return nil
}

const rolloutApproveLong = `Approve a decision group of a rollout whose strategy asks for approval, so that its clusters may start.

An approval counts for the template that the set has when the group starts. Take approvals back when you change the template.`

func newRolloutApprove(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	cmd, o := newRolloutSet(streams, clock, &cobra.Command{
		Use: "approve NAME --group GROUP [flags]", Short: "Approve a decision group of a rollout", Long: rolloutApproveLong,
		Example: "  # Let the group canary of the set web start\n  kubectl berth rollout approve web -n shop --group canary",
	}, func(ctx context.Context, o *rolloutSetOptions, key client.ObjectKey) error {
		return o.approve(ctx, key)
	})
	cmd.Flags().StringVar(&o.group, "group", "", "`group` to approve, by its name or index")
	cmd.Flags().StringVar(&o.placement, "placement", "", "`name` of the placement (default: all of the set)")
	registerCompletion(cmd, "placement", completer{o.flags}.completeOne(source.PlacementKind()))
	return cmd
}

func (o *rolloutSetOptions) approve(ctx context.Context, key client.ObjectKey) error {
	if o.group == "" {
		return errors.New("no group is given: name it with --group, as `kubectl berth rollout status` prints it")
	}
	group := clusterv1alpha1.MandatoryDecisionGroup{GroupName: o.group}
	if index, err := strconv.ParseInt(o.group, 10, 32); err == nil {
		group = clusterv1alpha1.MandatoryDecisionGroup{GroupIndex: int32(index)}
	}
	hub, err := o.connect()
	if err != nil {
		return err
	}
	changed, err := delivery.Approve(ctx, hub, key, o.placement, group)
	if err != nil {
		return err
	}
	done := "approved"
	if !changed {
		done += " already"
	}
	printer.Printf(o.streams.Out, "manifestworkreplicaset %s: group %s %s\n", key, o.group, done)
	return nil
}
