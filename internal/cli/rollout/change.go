package rollout

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/rollouts"
)

const pauseLong = `Pause the rollouts of a ManifestWorkReplicaSet, over one of its placements or over all.

No further cluster starts. Clusters that have started continue, and their deadlines run. You need the permission to update the
set, and execute-as for its executor.`

const resumeLong = `Resume the rollouts of a ManifestWorkReplicaSet that are paused, over one of its placements or over all.

You need the permission to update the set, and execute-as for its executor.`

const approveLong = `Approve decision groups in the rollouts of a ManifestWorkReplicaSet that have an approval in their strategy.

A whole number is the index of a group, any other text its name. You need the permission to update the set, and execute-as for
its executor.`

// changeOptions is the command line of the commands that change a rollout.
type changeOptions struct {
	streams genericiooptions.IOStreams
	flags   *reader.HubFlags

	placement string
	groups    []string
	// done is what the command reports; change returns the patch of a set.
	done   string
	change func(set *workv1alpha1.ManifestWorkReplicaSet) ([]byte, error)
}

func newPause(streams genericiooptions.IOStreams) *cobra.Command {
	o := &changeOptions{done: "paused"}
	o.change = func(set *workv1alpha1.ManifestWorkReplicaSet) ([]byte, error) {
		return rollouts.SetPaused(set, o.placement, true)
	}
	return o.command(streams, &cobra.Command{
		Use: "pause SET [flags]", Short: "Pause the rollouts of a set of works", Long: pauseLong,
		Example: "  # Start no further cluster\n  kubectl berth rollout pause web -n shop",
	})
}

func newResume(streams genericiooptions.IOStreams) *cobra.Command {
	o := &changeOptions{done: "resumed"}
	o.change = func(set *workv1alpha1.ManifestWorkReplicaSet) ([]byte, error) {
		return rollouts.SetPaused(set, o.placement, false)
	}
	return o.command(streams, &cobra.Command{
		Use: "resume SET [flags]", Short: "Resume the paused rollouts of a set of works", Long: resumeLong,
		Example: "  # Continue over the placement canary only\n  kubectl berth rollout resume web -n shop --placement canary",
	})
}

func newApprove(streams genericiooptions.IOStreams) *cobra.Command {
	o := &changeOptions{done: "approved"}
	o.change = func(set *workv1alpha1.ManifestWorkReplicaSet) ([]byte, error) {
		return rollouts.Approve(set, o.placement, o.groups)
	}
	cmd := o.command(streams, &cobra.Command{
		Use: "approve SET --group GROUP [flags]", Short: "Approve groups in the rollouts of a set of works", Long: approveLong,
		Example: "  # Let the group production start\n  kubectl berth rollout approve web -n shop --group production",
	})
	cmd.Flags().StringArrayVar(&o.groups, "group", nil, "`name` or index of a decision group; may be repeated")
	return cmd
}

func (o *changeOptions) command(streams genericiooptions.IOStreams, cmd *cobra.Command) *cobra.Command {
	o.streams, o.flags = streams, reader.NewHubFlags()
	cmd.Args = oneWorkSet
	cmd.ValidArgsFunction = completion.Of(o.flags).One(reader.WorkSetKind())
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) }
	cmd.DisableFlagsInUseLine = true
	cmd.Flags().StringVar(&o.placement, "placement", "", "`name` of the placement whose rollout to change (default: all of the set)")
	command.AddHubFlags(cmd, o.flags)
	completion.Register(cmd, "placement", completion.Of(o.flags).All(reader.PlacementKind()))
	return cmd
}

func (o *changeOptions) run(ctx context.Context, name string) error {
	hub, key, err := rollouts.Caller{Flags: o.flags, ErrOut: o.streams.ErrOut}.Connect(name)
	if err != nil {
		return err
	}
	changed, err := rollouts.Change(ctx, hub, key, o.change)
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
