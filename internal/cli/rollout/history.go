package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
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

const historyLong = `List the templates that a ManifestWorkReplicaSet had, the newest first: the one that is rolled out (update), and that of the last
finished rollout (current). FINISHED is yes where a template is known to have been rolled out to the end.

You need the permission to get the set, and to list controllerrevisions in its namespace. Templates with a Secret are kept too, while they
are one of those two; to list them, and to return to them, you need the permission to list formertemplates, which no role for users has.`

const undoLong = `Return a ManifestWorkReplicaSet to a former template: that of --to-revision, else that of the last finished rollout, else the newest
other that has finished.

The template is written into the set and rolls out at the pace of the strategy, as any change does. A pause, a missing approval and a
breach hold it: what does so is printed. Clusters that have the template are not touched. You need the permission to update the set, and
execute-as for its executor.

With --now, every cluster that has another template returns at once: at no pace, through a pause, without approvals, and whatever fails. It
takes a template that has finished before. The decision is stored in the RolloutControl with the name of the set, with your user name and
the reason; you need the permission to update rolloutcontrols.`

// historyOptions is the command line of `kubectl berth rollout history` and `kubectl berth rollout undo`.
type historyOptions struct {
	streams genericiooptions.IOStreams
	clock   clock.PassiveClock
	flags   *reader.HubFlags

	output command.OutputFlag
	number int64
	now    bool
	reason string
}

func newHistory(streams genericiooptions.IOStreams) *cobra.Command {
	o := &historyOptions{streams: streams, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use: "history SET [flags]", Short: "List the templates that a set of works had", Long: historyLong,
		Example: "  # Which templates did the set web have?\n  kubectl berth rollout history web -n shop",
		Args:    oneWorkSet, ValidArgsFunction: completion.Of(o.flags).One(reader.WorkSetKind()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.output.Check(); err != nil {
				return command.NewUsageError(cmd, err)
			}
			return o.history(cmd.Context(), args[0])
		},
		DisableFlagsInUseLine: true,
	}
	o.output.Add(cmd, "`form` of the result: table, yaml or json", "table", "yaml", "json")
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

func (o *historyOptions) history(ctx context.Context, name string) error {
	hub, key, err := rollouts.Caller{Flags: o.flags, ErrOut: o.streams.ErrOut}.Connect(name)
	if err != nil {
		return err
	}
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := hub.Get(ctx, key, set); err != nil {
		return err
	}
	found, err := rollouts.History(ctx, hub, set)
	if err != nil {
		return err
	}
	if found.Hidden != "" {
		printer.Printf(o.streams.ErrOut, "%s\n", found.Hidden)
	}
	return printer.WriteBuffered(o.streams.Out, func(w io.Writer) error {
		if o.output.Form != "table" {
			return printer.WriteData(w, o.output.Form, found.Revisions)
		}
		table := printer.NewTable(w, "")
		table.Row("REVISION", "STATE", "FINISHED", "CREATED", "HASH")
		for _, one := range found.Revisions {
			finished := printer.Dash
			if one.Finished {
				finished = "yes"
			}
			table.Row(strconv.FormatInt(one.Number, 10), one.State(), finished, printer.FormatTime(one.Created.Time), one.Hash)
		}
		return table.Flush()
	})
}

func newUndo(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &historyOptions{streams: streams, clock: clock, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use: "undo SET [flags]", Short: "Return a set of works to a former template", Long: undoLong,
		Example: "  # Return to the template of the last finished rollout\n  kubectl berth rollout undo web -n shop\n\n" +
			"  # In an emergency: on all clusters at once, whatever holds the rollout\n  kubectl berth rollout undo web -n shop " +
			"--now --reason 'data loss'",
		Args: oneWorkSet, ValidArgsFunction: completion.Of(o.flags).One(reader.WorkSetKind()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.number < 0 {
				return command.NewUsageError(cmd, errors.New("--to-revision must be 1 or more: `kubectl berth rollout history` lists the revisions"))
			}
			if o.reason != "" && !o.now {
				return command.NewUsageError(cmd, errors.New("--reason is for --now: leave it out, or return at once"))
			}
			return o.undo(cmd.Context(), args[0])
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().Int64Var(&o.number, "to-revision", 0, "`number` of the template to return to (default: that of the last finished rollout)")
	cmd.Flags().BoolVar(&o.now, "now", false, "return on all clusters at once, whatever holds the rollout")
	cmd.Flags().StringVar(&o.reason, "reason", "", "`reason` of --now, for those who look at the rollout later")
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

func (o *historyOptions) undo(ctx context.Context, name string) (err error) {
	if o.reason, err = rollouts.TrimReason(o.reason); err != nil {
		return err
	}
	hub, key, err := rollouts.Caller{Flags: o.flags, ErrOut: o.streams.ErrOut}.Connect(name)
	if err != nil {
		return err
	}
	hurried := false
	if o.now {
		if hurried, err = o.returnNow(ctx, hub, key); err != nil {
			return err
		}
	}
	target := rollouts.Revision{}
	changed, err := rollouts.Change(ctx, hub, key, func(set *workv1alpha1.ManifestWorkReplicaSet) ([]byte, error) {
		past, err := rollouts.History(ctx, hub, set)
		if err != nil {
			return nil, err
		}
		var patch []byte
		patch, target, err = rollouts.Undo(set, past, o.number)
		return patch, err
	})
	if err != nil {
		return err
	}
	done, how := "returned to", ""
	if !changed && !hurried {
		done = "already has"
	}
	if o.now {
		how = " at once"
	}
	printer.Printf(o.streams.Out, "manifestworkreplicaset %s %s revision %d%s\n", key.Name, done, target.Number, how)
	return o.printHolds(ctx, hub, key)
}

// returnNow stores that the clusters return at once, before the set has the template: so no pass goes at the pace of the strategy.
func (o *historyOptions) returnNow(ctx context.Context, hub client.Client, key client.ObjectKey) (changed bool, err error) {
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := hub.Get(ctx, key, set); err != nil {
		return false, fmt.Errorf("reading the set %s: %w", key, err)
	}
	past, err := rollouts.History(ctx, hub, set)
	if err != nil {
		return false, err
	}
	target, err := rollouts.ReturnTo(set, past.Revisions, o.number)
	if err != nil {
		return false, err
	}
	o.number = target.Number
	if patch, _, err := rollouts.Undo(set, past, o.number); err != nil {
		return false, err
	} else if patch != nil {
		// Who may not write the set stores no decision either.
		if err := hub.Patch(ctx, set.DeepCopy(), client.RawPatch(types.JSONPatchType, patch), client.DryRunAll); err != nil {
			return false, fmt.Errorf("changing the set %s: %w", key, err)
		}
	}
	return rollouts.ChangeControl(ctx, hub, set, rollouts.ReturnNow(target.Hash, o.reason, o.clock.Now()))
}

// printHolds prints what holds the return.
func (o *historyOptions) printHolds(ctx context.Context, hub client.Client, key client.ObjectKey) error {
	read, err := rollouts.Read(ctx, hub, key)
	if err != nil {
		return err
	}
	holds, err := rollouts.Holds(read, o.clock.Now())
	if err != nil {
		return err
	}
	for _, hold := range holds {
		printer.Printf(o.streams.Out, "it waits: %s\n", hold)
	}
	return nil
}
