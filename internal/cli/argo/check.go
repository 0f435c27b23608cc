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
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/kube/phrase"
)

const argoCheckLong = `Check whether Argo CD can follow decisions on this hub. The command prints what is missing, each with what to do:

* an ApplicationSet that follows a decision, and the ConfigMap that it names
* the permission of the ApplicationSet controller to list decisions
* the placement, in the namespace of Argo CD (-n, argocd by default)
* a cluster Secret for each selected cluster

Without PLACEMENT it checks the placements that the ApplicationSets follow.

A Secret is for the cluster in its label apps.open-cluster-management.io/cluster-name, else for the one with its name. The command
reads the metadata of Secrets only, never a value. You need the permission to list Secrets, ConfigMaps, ApplicationSets, placements
and decisions in the namespace, and to create SubjectAccessReviews.

Exit codes: 0 when nothing is missing, 1 when there are steps left, 2 when the command line is wrong or the hub cannot be read.`

// argoCheckOptions is the command line of `kubectl berth argo check`.
type argoCheckOptions struct {
	streams genericiooptions.IOStreams
	flags   *reader.HubFlags

	account string
	output  command.OutputFlag
}

func newArgoCheck(streams genericiooptions.IOStreams) *cobra.Command {
	o := &argoCheckOptions{streams: streams, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use: "check [PLACEMENT...] [flags]", Short: "Check what Argo CD lacks to follow decisions", Long: argoCheckLong,
		Example:           "  # Does Argo CD have all that it needs?\n  kubectl berth argo check",
		ValidArgsFunction: completion.Of(o.flags).All(reader.PlacementKind()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.output.Check(); err != nil {
				return command.NewUsageError(cmd, err)
			}
			return o.run(cmd.Context(), args)
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().StringVar(&o.account, "service-account", argocd.ServiceAccount, "service `account` of the ApplicationSet controller")
	o.output.Add(cmd, "`form` of the answer: json (default: steps and notes)", "", "json")
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

func (o *argoCheckOptions) run(ctx context.Context, placements []string) error {
	hub, err := reader.NewClient(o.flags, o.streams.ErrOut, argocd.NewClient)
	if err != nil {
		return err
	}
	report, err := argocd.Check(ctx, hub, argocd.Options{
		Namespace: cmp.Or(o.flags.Namespace(), argocd.Namespace), ServiceAccount: o.account, Placements: placements,
	})
	if err != nil {
		return fmt.Errorf("checking Argo CD: %w", err)
	}
	err = printer.WriteBuffered(o.streams.Out, func(w io.Writer) error {
		if o.output.Form != "" {
			return printer.WriteData(w, o.output.Form, report)
		}
		return printReport(w, report)
	})
	if err == nil && len(report.Steps) > 0 {
		return command.UnsatisfiedError{}
	}
	return err
}

// printReport writes the steps with their numbers, the notes, and one line about all.
func printReport(w io.Writer, r *argocd.Report) error {
	for i, step := range r.Steps {
		printer.Printf(w, "%d. %s: %s\n   -> %s\n", i+1, step.Object, step.Message, step.Remedy)
	}
	for _, note := range r.Notes {
		printer.Printf(w, "Note: %s: %s\n   -> %s\n", note.Object, note.Message, note.Remedy)
	}
	checked := phrase.Count(len(r.Placements), "placement") + ", " + phrase.Count(r.Clusters, "selected cluster")
	if len(r.Steps) == 0 {
		_, err := fmt.Fprintf(w, "Argo CD can follow the decisions: %s.\n", checked)
		return err //nolint:wrapcheck // the caller writes it
	}
	_, err := fmt.Fprintf(w, "%s left before Argo CD can follow every decision (%s).\n", phrase.Count(len(r.Steps), "step"), checked)
	return err //nolint:wrapcheck // the caller writes it
}
