package install

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/install/uninstall"
	"github.com/berth-project/berth/internal/kube/phrase"
)

const uninstallLong = `Remove from a hub what would hinder it without Berth: webhooks, conversions and the APIService that no manager serves any more,
admission policies, and the finalizers of Berth's controllers.

Stop the manager first, because it restores what is removed. Without --yes the command prints what it would remove and changes nothing.

Definitions, clusters, placements, decisions, sets and works stay, and so does everything that runs on the members. A cluster or a set that
is deleted afterwards takes nothing with it: its works stay.`

const uninstallExamples = `  # What would be removed
  kubectl berth uninstall

  # Remove it
  kubectl scale deployment berth -n berth-system --replicas 0
  kubectl berth uninstall --yes`

// NewUninstall returns the command that removes Berth's registrations from a hub.
func NewUninstall(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	flags, yes := reader.NewHubFlags(), false
	cmd := &cobra.Command{
		Use: "uninstall [flags]", Short: "Remove what would hinder a hub without Berth", Long: uninstallLong, Example: uninstallExamples,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runUninstall(cmd.Context(), streams, flags, clock, yes)
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "remove it; without this flag the command is a dry run")
	command.AddHubFlags(cmd, flags)
	return cmd
}

func runUninstall(ctx context.Context, streams genericiooptions.IOStreams, flags *reader.HubFlags, clock clock.PassiveClock,
	yes bool,
) error {
	hub, err := reader.NewClient(flags, streams.ErrOut, uninstall.NewClient)
	if err != nil {
		return err
	}
	if yes {
		if err := uninstall.CheckStopped(ctx, hub, clock.Now()); err != nil {
			return err
		}
	}
	steps, err := uninstall.All(ctx, hub)
	if err != nil {
		return err
	}
	if !yes {
		return printer.WriteBuffered(streams.Out, func(w io.Writer) error { return printUninstall(w, steps) })
	}
	for _, step := range steps {
		if err := uninstall.Apply(ctx, hub, step); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(streams.Out, "%s: done\n", step); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(streams.Out, "%s done. Decisions and works are as they were.\n", phrase.Count(len(steps), "step"))
	return err
}

// printUninstall writes what a dry run found.
func printUninstall(w io.Writer, steps []uninstall.Step) error {
	for _, step := range steps {
		printer.Printf(w, "would %s\n", step)
	}
	if len(steps) == 0 {
		_, err := fmt.Fprintln(w, "Nothing of Berth hinders this hub.")
		return err
	}
	_, err := fmt.Fprintf(w, "%s. This was a dry run: stop the manager, and add --yes to execute them.\n", phrase.Count(len(steps), "step"))
	return err
}
