package install

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/install/migrate"
	"github.com/berth-project/berth/internal/kube/phrase"
)

const migrateLong = `Convert what earlier versions of Open Cluster Management stored on a hub to the form that Berth reads:

* sets with the selector LegacyClusterSetLabel, which then is ExclusiveClusterSetLabel;
* the prioritizers of placements of version v1alpha1, where the hub serves that version;
* the bindings of OCM's roles of sets (open-cluster-management:managedclusterset:admin, bind and view), whose subjects get Berth's roles;
* objects that are stored in a version that is not the present one.

Without --yes the command prints what it would do and changes nothing. It deletes nothing: OCM's bindings stay until you delete them. It may
be repeated at any time.`

const migrateExamples = `  # What would be converted
  kubectl berth migrate

  # Convert it
  kubectl berth migrate --yes`

// NewMigrate returns the command that converts what earlier versions stored.
func NewMigrate(streams genericiooptions.IOStreams) *cobra.Command {
	flags, yes := reader.NewHubFlags(), false
	cmd := &cobra.Command{
		Use: "migrate [flags]", Short: "Convert what earlier versions stored on a hub", Long: migrateLong, Example: migrateExamples,
		Args:                  command.NoArguments,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return runMigrate(cmd.Context(), streams, flags, yes) },
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "convert it; without this flag the command is a dry run")
	command.AddHubFlags(cmd, flags)
	return cmd
}

func runMigrate(ctx context.Context, streams genericiooptions.IOStreams, flags *reader.HubFlags, yes bool) error {
	config, err := flags.RESTConfig(streams.ErrOut)
	if err != nil {
		return err
	}
	hub, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client of the hub: %w", err)
	}
	steps, notes, err := migrate.Plan(ctx, hub)
	if err != nil {
		return err
	}
	if !yes {
		return printer.WriteBuffered(streams.Out, func(w io.Writer) error { return printMigration(w, steps, notes) })
	}
	for _, step := range steps {
		if err := migrate.Apply(ctx, hub, step); err != nil {
			return err
		}
		printer.Printf(streams.Out, "%s: done\n", step)
	}
	return printer.WriteBuffered(streams.Out, func(w io.Writer) error {
		printNotes(w, notes)
		_, err := fmt.Fprintf(w, "%s done.\n", phrase.Count(len(steps), "step"))
		return err
	})
}

// printMigration writes what a dry run found.
func printMigration(w io.Writer, steps []migrate.Step, notes []string) error {
	for _, step := range steps {
		printer.Printf(w, "would %s\n", step)
	}
	printNotes(w, notes)
	if len(steps) == 0 && len(notes) > 0 {
		_, err := fmt.Fprintln(w, "Nothing else is left to convert.")
		return err
	}
	if len(steps) == 0 {
		_, err := fmt.Fprintln(w, "Nothing is left to convert.")
		return err
	}
	_, err := fmt.Fprintf(w, "%s. This was a dry run: add --yes to execute them.\n", phrase.Count(len(steps), "step"))
	return err
}

func printNotes(w io.Writer, notes []string) {
	for _, note := range notes {
		printer.Printf(w, "Note: %s\n", note)
	}
}
