package rollout

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/rollouts"
)

const historyLong = `List the templates that a ManifestWorkReplicaSet had, the newest first: the one that is rolled out (update), and that of the last
finished rollout (current).

A template with a Secret is not kept, so no command returns to it. You need the permission to get the set, and to list
controllerrevisions in its namespace.`

const undoLong = `Return a ManifestWorkReplicaSet to a former template: that of --to-revision, else that of the last finished rollout, else the one
before the present.

The template is written into the set and rolls out at the pace of the strategy, as any change does. Clusters that have it are
not touched. You need the permission to update the set, and execute-as for its executor.`

// historyOptions is the command line of `kubectl berth rollout history` and `kubectl berth rollout undo`.
type historyOptions struct {
	streams genericiooptions.IOStreams
	flags   *reader.HubFlags

	output command.OutputFlag
	number int64
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
	return printer.WriteBuffered(o.streams.Out, func(w io.Writer) error {
		if o.output.Form != "table" {
			return printer.WriteData(w, o.output.Form, found)
		}
		table := printer.NewTable(w, "")
		table.Row("REVISION", "STATE", "CREATED", "HASH")
		for _, one := range found {
			table.Row(strconv.FormatInt(one.Number, 10), one.State(), printer.FormatTime(one.Created.Time), one.Hash)
		}
		return table.Flush()
	})
}

func newUndo(streams genericiooptions.IOStreams) *cobra.Command {
	o := &historyOptions{streams: streams, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use: "undo SET [flags]", Short: "Return a set of works to a former template", Long: undoLong,
		Example: "  # Return to the template of the last finished rollout\n  kubectl berth rollout undo web -n shop",
		Args:    oneWorkSet, ValidArgsFunction: completion.Of(o.flags).One(reader.WorkSetKind()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.number < 0 {
				return command.NewUsageError(cmd, errors.New("--to-revision must be 1 or more: `kubectl berth rollout history` lists the revisions"))
			}
			return o.undo(cmd.Context(), args[0])
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().Int64Var(&o.number, "to-revision", 0, "`number` of the template to return to (default: that of the last finished rollout)")
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

func (o *historyOptions) undo(ctx context.Context, name string) error {
	hub, key, err := rollouts.Caller{Flags: o.flags, ErrOut: o.streams.ErrOut}.Connect(name)
	if err != nil {
		return err
	}
	target := rollouts.Revision{}
	changed, err := rollouts.Change(ctx, hub, key, func(set *workv1alpha1.ManifestWorkReplicaSet) ([]byte, error) {
		history, err := rollouts.History(ctx, hub, set)
		if err != nil {
			return nil, err
		}
		var patch []byte
		patch, target, err = rollouts.Undo(set, history, o.number)
		return patch, err
	})
	if err != nil {
		return err
	}
	done := "returned to"
	if !changed {
		done = "already has"
	}
	printer.Printf(o.streams.Out, "manifestworkreplicaset %s %s revision %d\n", key.Name, done, target.Number)
	return nil
}
