package cluster

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/membership/join"
)

// NewClusters returns the command `kubectl berth clusters`.
func NewClusters(streams genericiooptions.IOStreams) *cobra.Command {
	flags := reader.NewHubFlags()
	pending := &cobra.Command{
		Use: "pending [flags]", Short: "Show the clusters that have not joined, and what they wait for",
		Example: "  # Which clusters wait for me?\n  kubectl berth clusters pending",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printPending(cmd.Context(), streams, flags)
		},
		DisableFlagsInUseLine: true,
	}
	command.AddHubFlags(pending, flags)
	return command.NewGroup("clusters", "Show which clusters wait to join", pending)
}

func printPending(ctx context.Context, streams genericiooptions.IOStreams, flags *reader.HubFlags) error {
	hub, err := reader.NewClient(flags, streams.ErrOut, join.NewClient)
	if err != nil {
		return err
	}
	found, err := join.ListPending(ctx, hub)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		printer.Printf(streams.ErrOut, "No cluster waits to join.\n")
		return nil
	}
	return printer.WriteBuffered(streams.Out, func(w io.Writer) error {
		table := printer.NewTable(w, "")
		table.Row("CLUSTER", "WAITS", "REQUESTER")
		for _, p := range found {
			table.Row(p.Cluster, p.Reason, cmp.Or(p.Requester, printer.Dash))
		}
		return table.Flush()
	})
}
