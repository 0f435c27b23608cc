package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
)

const historyLong = `Show the last changes of a placement's decisions: the clusters added and removed, the reasons, and the causes.

The manager keeps the last changes in memory, so they begin with its start. It lists the clusters that you may see and
counts the others. You need the permission to get the placement.

json and yaml give the changes as data, of kind ` + explain.HistoryKind + `.`

const historyExamples = `  # What happened to this placement?
  kubectl berth history placement web -n shop

  # When did this cluster come and go, within the last hour?
  kubectl berth history placement web -n shop --cluster eu-7 --since 1h`

// historyOptions is the command line of `kubectl berth history`.
type historyOptions struct {
	streams genericiooptions.IOStreams
	clock   clock.PassiveClock
	flags   *reader.HubFlags

	cluster, since string
	output         command.OutputFlag
}

// NewHistory returns the command `kubectl berth history`.
func NewHistory(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &historyOptions{streams: streams, clock: clock, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use:     "history [placement] NAME [flags]",
		Short:   "Show how the decisions of a placement changed",
		Long:    historyLong,
		Example: historyExamples,
		Args: func(cmd *cobra.Command, args []string) error {
			_, err := command.PlacementName(cmd, args)
			return err
		},
		ValidArgsFunction: completion.Of(o.flags).Placement,
		RunE: func(cmd *cobra.Command, args []string) error {
			parameters, err := o.complete(cmd)
			if err != nil {
				return command.NewUsageError(cmd, err)
			}
			name, err := command.PlacementName(cmd, args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), name, parameters)
		},
		DisableFlagsInUseLine: true,
	}
	// pflag keeps the first flag of a name, so this one replaces kubectl's --cluster, an entry of the kubeconfig.
	cmd.Flags().StringVar(&o.cluster, "cluster", "", "`name` of the cluster whose moves to show (default: all)")
	cmd.Flags().StringVar(&o.since, "since", "",
		"how `long` ago to begin, such as 1h, or an instant such as 2026-11-20T10:00:00Z (default: all that is kept)")
	o.output.Add(cmd, "`form` of the answer: table, json or yaml", "table", "json", "yaml")
	command.AddHubFlags(cmd, o.flags, "cluster")
	return cmd
}

// complete checks the flags and returns the parameters of the request.
func (o *historyOptions) complete(cmd *cobra.Command) (url.Values, error) {
	out := url.Values{}
	if err := o.output.Check(); err != nil {
		return nil, err
	}
	if o.cluster != "" {
		out.Set("cluster", o.cluster)
	} else if cmd.Flags().Changed("cluster") {
		return nil, errors.New("--cluster is empty: name a cluster")
	}
	if o.since == "" {
		return out, nil
	}
	since, err := time.Parse(time.RFC3339, o.since)
	if err != nil {
		ago, failed := time.ParseDuration(o.since)
		if failed != nil || ago < 0 {
			return nil, fmt.Errorf("--since %q is neither a length such as 1h nor an instant such as 2026-11-20T10:00:00Z", o.since)
		}
		since = o.clock.Now().Add(-ago)
	}
	out.Set("since", since.UTC().Format(time.RFC3339))
	return out, nil
}

func (o *historyOptions) run(ctx context.Context, name string, parameters url.Values) error {
	h, err := o.flags.Connect(o.streams.ErrOut, printer.NewProgress(o.streams.ErrOut, o.clock))
	if err != nil {
		return err
	}
	h.Progress.Update("the history", 0)
	var found explain.History
	err = h.GetView(ctx, &found, h.Namespace, name, "history", parameters)
	h.Progress.Done()
	if err != nil {
		return h.ViewError(err, "reading the history of "+h.Namespace+"/"+name)
	}
	return printer.WriteBuffered(o.streams.Out, func(w io.Writer) error {
		return writeHistory(w, &found, o.output.Form, printer.ScreenOf(o.streams.Out, os.Getenv))
	})
}

// writeHistory writes a history in the form of the output flag.
func writeHistory(w io.Writer, of *explain.History, form string, on printer.Screen) error {
	if form == "table" {
		return printHistory(w, of, on)
	}
	return printer.WriteData(w, form, of)
}

// printHistory writes a row for each cluster that moved, the latest change first, and after them what is not shown.
func printHistory(w io.Writer, of *explain.History, on printer.Screen) error {
	if len(of.Changes) == 0 {
		printer.Printf(w, "No change of placement %s/%s is known since %s.\n", of.Namespace, of.Name, printer.FormatTime(of.From))
		return nil
	}
	table := printer.NewTable(w, "")
	table.Screen, table.Flexible = on, []int{2, 3}
	printer.AddHistoryRows(table, of.Changes)
	if err := table.Flush(); err != nil {
		return err
	}
	if of.Dropped > 0 {
		fmt.Fprintf(w, "%d earlier changes are not kept.\n", of.Dropped)
	}
	return nil
}
