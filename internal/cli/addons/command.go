package addons

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
)

const addOnStatusLong = `Show how far an add-on is on each cluster: the placement that selects the cluster, whether the add-on is installed there, what it has
applied and has to reach, its health, and why it is not further.

CONFIGURATION is what the add-on has applied, and after > what it has to reach. A name with ' is the same object with another content.

The reasons come from the planner of the manager, which runs here over what the hub stores. Which writes the API server refused is in what the
manager reports, which is printed where it differs.

You need the permission to get the ClusterManagementAddOn, its placements and its configurations, and to list their decisions,
ManagedClusterAddOns in all namespaces, and ManagedClusters. The command writes nothing.`

const addOnStatusExamples = `  # Which clusters lack the add-on metrics, and why?
  kubectl berth addon status metrics

  # Every cluster, as data
  kubectl berth addon status metrics -o json`

// NewCommand returns the command `kubectl berth addon`, with status below it.
func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	return command.NewGroup("addon", "Show how far add-ons are", newAddOnStatus(streams, clock))
}

// addOnStatusOptions is the command line of `kubectl berth addon status`.
type addOnStatusOptions struct {
	streams genericiooptions.IOStreams
	clock   clock.PassiveClock
	flags   *reader.HubFlags

	output command.OutputFlag
	all    bool
}

func newAddOnStatus(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &addOnStatusOptions{streams: streams, clock: clock, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use:               "status ADDON [flags]",
		Short:             "Show how far an add-on is on each cluster, and why",
		Long:              addOnStatusLong,
		Example:           addOnStatusExamples,
		ValidArgsFunction: completion.Of(o.flags).One(reader.AddOnKind()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.NewUsageError(cmd, fmt.Errorf("name one add-on: %s NAME", cmd.CommandPath()))
			}
			if err := o.output.Check(); err != nil {
				return command.NewUsageError(cmd, err)
			}
			return o.run(cmd.Context(), args[0])
		},
		DisableFlagsInUseLine: true,
	}
	o.output.Add(cmd, "`form` of the result: table, yaml or json", "table", "yaml", "json")
	cmd.Flags().BoolVar(&o.all, "all", false, "list every cluster in the table")
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

func (o *addOnStatusOptions) run(ctx context.Context, name string) error {
	hub, err := reader.NewClient(o.flags, o.streams.ErrOut, NewHub)
	if err != nil {
		return err
	}
	now := o.clock.Now()
	in, err := Read(ctx, hub, name, now)
	if err != nil {
		return err
	}
	report := New(in)
	return printer.WriteBuffered(o.streams.Out, func(w io.Writer) error {
		if o.output.Form == "table" {
			return PrintTable(w, &report, printer.ScreenOf(o.streams.Out, os.Getenv), now, o.all)
		}
		return printer.WriteData(w, o.output.Form, report)
	})
}
