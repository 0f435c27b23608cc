package argo

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/bridge/argocd"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/kube/phrase"
)

const argoLabelsLong = `Copy labels and claims of clusters to the labels of their cluster Secrets, so that generators and templates of Argo CD can use them.

Only Secrets that exist are labelled: credentials are never made. A label that was not copied before is never changed. A copied label
goes when its cluster no longer has it, or when it is left out of the command line. The command reads the metadata of Secrets only.

Without --yes the command prints what it would do, and changes nothing. You need the permission to list ManagedClusters, and to list
and patch Secrets in the namespace of Argo CD (-n, argocd by default).`

func newArgoLabels(streams genericiooptions.IOStreams) *cobra.Command {
	flags, options, yes := reader.NewHubFlags(), argocd.LabelOptions{}, false
	cmd := &cobra.Command{
		Use: "labels [flags]", Short: "Copy labels and claims of clusters to their cluster Secrets", Long: argoLabelsLong,
		Example: `  # Which cluster Secrets would get the region and the platform of their cluster?
  kubectl berth argo labels --label region --claim platform.open-cluster-management.io`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.Check(); err != nil {
				return command.NewUsageError(cmd, err)
			}
			options.Namespace = cmp.Or(flags.Namespace(), argocd.Namespace)
			return copyLabels(cmd.Context(), streams, flags, options, yes)
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().StringArrayVar(&options.Labels, "label", nil, "`key` of a label of clusters; may be repeated")
	cmd.Flags().StringArrayVar(&options.Claims, "claim", nil, "`name` of a claim of clusters; may be repeated")
	cmd.Flags().BoolVar(&yes, "yes", false, "label the Secrets; without this flag the command is a dry run")
	command.AddHubFlags(cmd, flags)
	return cmd
}

func copyLabels(ctx context.Context, streams genericiooptions.IOStreams, flags *reader.HubFlags, options argocd.LabelOptions,
	yes bool,
) error {
	hub, err := reader.NewClient(flags, streams.ErrOut, argocd.NewClient)
	if err != nil {
		return err
	}
	plan, err := argocd.PlanLabels(ctx, hub, options)
	if err != nil {
		return fmt.Errorf("comparing labels: %w", err)
	}
	for _, change := range plan.Changes {
		if !yes {
			printer.Printf(streams.Out, "would %s\n", change)
			continue
		}
		if err := argocd.ApplyLabels(ctx, hub, change); err != nil {
			return err
		}
		printer.Printf(streams.Out, "%s: done\n", change)
	}
	return printer.WriteBuffered(streams.Out, func(w io.Writer) error { return printLabels(w, plan, yes) })
}

// printLabels writes the notes of a plan and one line about all of it.
func printLabels(w io.Writer, p *argocd.LabelPlan, done bool) error {
	for _, note := range p.Notes {
		printer.Printf(w, "Note: %s\n", note)
	}
	text := "%s of %d would change. This was a dry run: add --yes to label them.\n"
	if done {
		text = "%s of %d labelled.\n"
	}
	if len(p.Changes) == 0 {
		_, err := fmt.Fprintf(w, "Nothing to change on %s.\n", phrase.Count(p.Secrets, "cluster Secret"))
		return err //nolint:wrapcheck // the caller writes it
	}
	_, err := fmt.Fprintf(w, text, phrase.Count(len(p.Changes), "cluster Secret"), p.Secrets)
	return err //nolint:wrapcheck // the caller writes it
}
