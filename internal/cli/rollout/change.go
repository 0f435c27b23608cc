package rollout

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/rollouts"
)

const pauseLong = `Pause the rollouts of a ManifestWorkReplicaSet.

No further cluster starts. Clusters that have started continue, and their deadlines run. Clusters that join get the template of the last
finished rollout. The pause is stored in the RolloutControl with the name of the set, with your user name and the reason, and survives every change of the
set. With --placement it is stored in the set, for one placement, without them.

You need the permission to update rolloutcontrols; with --placement to update the set, and execute-as for its executor.`

const resumeLong = `Resume the rollouts of a ManifestWorkReplicaSet that are paused, over one of its placements or over all.

Without --placement, it ends the pause of the RolloutControl and of every placement in the set. You need the permission to update
rolloutcontrols, and where the set itself is paused to update the set, and execute-as for its executor.`

const approveLong = `Approve decision groups in the rollouts of a ManifestWorkReplicaSet, for its present template.

A group must be in the decision of a placement, or mandatory, and not have passed; a group that nothing waits for yet is approved in advance. A group whose rollout waits for approvals may start. A mandatory group that holds the rollout, since it is empty, missing, or has no
cluster that succeeded, is passed. A whole number is the index of a group, any other text its name; an index is stored as the name that
the group has now. The approval is stored in the RolloutControl with the name of the set, with your user name. You need the
permission to update rolloutcontrols.

With --without-former the present template starts although that of the last finished rollout is not kept, as the condition
FormerTemplateUnkept of the set reports: no cluster can return to it then.

With --without-missing the rollout of the present template finishes although clusters are missing that were selected when it began, or that
an edit added: from then on each cluster that joins gets the template at once.`

const forgiveLong = `Let failures of clusters not count any more, in the rollout of the present template of a ManifestWorkReplicaSet.

The clusters must have failed, or have left before they succeeded. They are named by ` + "`kubectl berth rollout status`" +
	`. It is stored in the
RolloutControl with the name of the set, with your user name and the reason, and the set has an event of it. You need the permission to update rolloutcontrols.`

// changeOptions is the command line of the commands that change a rollout.
type changeOptions struct {
	streams genericiooptions.IOStreams
	flags   *reader.HubFlags

	placement, reason string
	groups            []string
	// withoutFormer and withoutMissing decide about the template.
	withoutFormer, withoutMissing bool
	// done is what the command reports.
	done string
	// change stores what the command decides about a set, and reports whether anything was to be changed.
	change func(ctx context.Context, hub client.Client, set *workv1alpha1.ManifestWorkReplicaSet, args []string) (changed bool, err error)
}

func newPause(streams genericiooptions.IOStreams) *cobra.Command {
	o := &changeOptions{done: "paused"}
	o.change = func(ctx context.Context, hub client.Client, set *workv1alpha1.ManifestWorkReplicaSet, _ []string) (bool, error) {
		return o.steering().Pause(ctx, hub, set)
	}
	return o.withReason(o.withPlacement(o.command(streams, &cobra.Command{
		Use: "pause SET [flags]", Short: "Pause the rollouts of a set of works", Long: pauseLong, Args: oneWorkSet,
		Example: "  # Start no further cluster\n  kubectl berth rollout pause web -n shop --reason 'it is Friday'",
	})), "`reason` of the pause, for those who look at the rollout later")
}

func newResume(streams genericiooptions.IOStreams) *cobra.Command {
	o := &changeOptions{done: "resumed"}
	o.change = func(ctx context.Context, hub client.Client, set *workv1alpha1.ManifestWorkReplicaSet, _ []string) (changed bool, err error) {
		return o.steering().Resume(ctx, hub, set)
	}
	return o.withReason(o.withPlacement(o.command(streams, &cobra.Command{
		Use: "resume SET [flags]", Short: "Resume the paused rollouts of a set of works", Long: resumeLong, Args: oneWorkSet,
		Example: "  # Continue over the placement canary only\n  kubectl berth rollout resume web -n shop --placement canary",
	})), "`reason` why the rollout goes on")
}

// steering is what the flags of the command decide.
func (o *changeOptions) steering() rollouts.Steering {
	return rollouts.Steering{Placement: o.placement, Reason: o.reason}
}

func newApprove(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &changeOptions{done: "approved"}
	o.change = func(ctx context.Context, hub client.Client, set *workv1alpha1.ManifestWorkReplicaSet, _ []string) (bool, error) {
		if o.withoutFormer {
			start, err := rollouts.StartWithoutFormer(set, o.reason, clock.Now())
			if err != nil {
				return false, err
			}
			return rollouts.ChangeControl(ctx, hub, set, start)
		}
		if o.withoutMissing {
			finish, err := rollouts.FinishWithoutMissing(set, o.reason, clock.Now())
			if err != nil {
				return false, err
			}
			return rollouts.ChangeControl(ctx, hub, set, finish)
		}
		changed, advance, err := o.steering().Approve(ctx, hub, set, o.groups)
		if changed {
			o.done += rollouts.InAdvance(advance)
		}
		return changed, err
	}
	cmd := o.withReason(o.withPlacement(o.command(streams, &cobra.Command{
		Use:   "approve SET (--group GROUP | --without-former | --without-missing) [flags]",
		Short: "Approve groups in the rollouts of a set of works", Long: approveLong, Args: oneWorkSet,
		Example: "  # Let the group production start\n  kubectl berth rollout approve web -n shop --group production",
	})), "`reason` of the approval")
	cmd.Flags().StringArrayVar(&o.groups, "group", nil, "`name` or index of a decision group; may be repeated")
	cmd.Flags().BoolVar(&o.withoutFormer, "without-former", false, "let the present template start although the former one is not kept")
	cmd.Flags().BoolVar(&o.withoutMissing, "without-missing", false, "let the rollout finish without the clusters that are missing")
	cmd.MarkFlagsMutuallyExclusive("group", "without-former", "without-missing")
	return cmd
}

func newForgive(streams genericiooptions.IOStreams) *cobra.Command {
	o := &changeOptions{done: "forgiven"}
	o.change = func(ctx context.Context, hub client.Client, set *workv1alpha1.ManifestWorkReplicaSet, clusters []string) (bool, error) {
		forgiven, err := rollouts.Forgive(set, clusters, o.reason)
		if err != nil {
			return false, err
		}
		return rollouts.ChangeControl(ctx, hub, set, rollouts.AddForgiven(forgiven))
	}
	cmd := o.command(streams, &cobra.Command{
		Use: "forgive SET CLUSTER... --reason REASON [flags]", Short: "Let failed clusters not count in the rollout of a set of works",
		Long: forgiveLong,
		Args: cobra.MinimumNArgs(2), //nolint:mnd // a set and a cluster
		Example: "  # The disk of edge-1 was full, whatever the template is\n  kubectl berth rollout forgive web edge-1 " +
			"-n shop --reason 'disk full'",
	})
	return o.withReason(cmd, "`reason` why the failure does not count")
}

func (o *changeOptions) command(streams genericiooptions.IOStreams, cmd *cobra.Command) *cobra.Command {
	o.streams, o.flags = streams, reader.NewHubFlags()
	cmd.ValidArgsFunction = completion.Of(o.flags).One(reader.WorkSetKind())
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1:]) }
	cmd.DisableFlagsInUseLine = true
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

// withPlacement adds the flag of a placement.
func (o *changeOptions) withPlacement(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&o.placement, "placement", "", "`name` of the placement whose rollout to change (default: all of the set)")
	completion.Register(cmd, "placement", completion.Of(o.flags).All(reader.PlacementKind()))
	return cmd
}

// withReason adds the flag of a reason.
func (o *changeOptions) withReason(cmd *cobra.Command, usage string) *cobra.Command {
	cmd.Flags().StringVar(&o.reason, "reason", "", usage)
	return cmd
}

func (o *changeOptions) run(ctx context.Context, name string, args []string) (err error) {
	if o.reason, err = rollouts.TrimReason(o.reason); err != nil {
		return err
	}
	hub, key, err := rollouts.Caller{Flags: o.flags, ErrOut: o.streams.ErrOut}.Connect(name)
	if err != nil {
		return err
	}
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := hub.Get(ctx, key, set); err != nil {
		return fmt.Errorf("reading the set %s: %w", key, err)
	}
	changed, err := o.change(ctx, hub, set, args)
	if err != nil {
		return err
	}
	already := ""
	if !changed {
		already = " already"
	}
	printer.Printf(o.streams.Out, "manifestworkreplicaset %s %s%s\n", key.Name, o.done, already)
	return nil
}
