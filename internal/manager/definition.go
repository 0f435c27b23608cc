package manager

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-project/berth/config"
	"github.com/berth-project/berth/internal/install/definition"
	"github.com/berth-project/berth/internal/kube/version"
)

// newDefinitionsCommand returns the command "berth crds".
func newDefinitionsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "crds",
		Short: "Install and upgrade the CustomResourceDefinitions of Berth",
	}
	command.AddCommand(newApplyDefinitionsCommand())
	return command
}

func newApplyDefinitionsCommand() *cobra.Command {
	var kubeconfig string
	var dryRun bool
	command := &cobra.Command{
		Use:   "apply",
		Short: "Install the definitions of this release, and upgrade those that lose nothing",
		Long: `Install the CustomResourceDefinitions of this release on a hub by server-side apply, and wait until the API server serves them.

A definition that has newer versions or fields which this release lacks, or that a newer release stored, is kept as it is, with the reason.
Older versions that the hub serves stay served. Where objects may be stored in another version than the present one, the command names it. The
manager compares the definitions with its needs when it starts, and reports what a kept definition lacks. Nothing is ever deleted.`,
		Example: `  # What would change on the hub of the current kubeconfig
  berth crds apply --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options := DefaultOptions()
			options.Kubeconfig = kubeconfig
			return applyDefinitions(command, options, dryRun)
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "path of the kubeconfig of the hub; empty: in-cluster, or $KUBECONFIG")
	command.Flags().BoolVar(&dryRun, "dry-run", false, "let the API server check every write, and store none")
	return command
}

// applyDefinitions prints a line for each definition.
func applyDefinitions(command *cobra.Command, options Options, dryRun bool) error {
	restConfig, err := hubConfig(options)
	if err != nil {
		return err
	}
	hub, err := definition.NewClient(restConfig)
	if err != nil {
		return err
	}
	results, err := definition.Apply(command.Context(), hub, config.CRDs(), version.Version(), dryRun)
	for _, result := range results {
		if printErr := printResult(command.OutOrStdout(), result, dryRun); printErr != nil {
			return printErr
		}
	}
	return err
}

func printResult(out io.Writer, result definition.Result, dryRun bool) error {
	text := "unchanged"
	switch {
	case result.Verb == definition.Keep:
		text = "kept: " + result.Reason
	case result.Verb == definition.Create:
		text = "created"
	case result.Changed:
		text = "updated"
	}
	if dryRun {
		text += " (dry run)"
	}
	if len(result.OtherStored) > 0 {
		text += fmt.Sprintf("\n  objects may be stored in version %s too: `kubectl berth migrate --yes` stores them in the present version",
			strings.Join(result.OtherStored, ", "))
	}
	_, err := fmt.Fprintln(out, result.Name, text)
	return err //nolint:wrapcheck // standard output is closed
}
