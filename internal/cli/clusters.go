package cli

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/membership/join"
)

func newClusters(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "clusters", Short: "Show which clusters wait to join",
		Args: unknownCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags := reader.NewHubFlags()
	pending := &cobra.Command{
		Use: "pending [flags]", Short: "Show the clusters that have not joined, and what they wait for",
		Example: "  # Which clusters wait for me?\n  kubectl berth clusters pending",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printPending(cmd.Context(), streams, flags)
		},
		DisableFlagsInUseLine: true,
	}
	flags.Add(pending.Flags())
	completer{flags}.completeHubFlags(pending)
	cmd.AddCommand(pending)
	return cmd
}

func printPending(ctx context.Context, streams genericiooptions.IOStreams, flags *reader.HubFlags) error {
	config, err := flags.RESTConfig(streams.ErrOut)
	if err != nil {
		return err
	}
	hub, err := join.NewClient(config)
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
