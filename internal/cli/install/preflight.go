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
	"github.com/berth-project/berth/internal/cli/rollouts"
	"github.com/berth-project/berth/internal/install/preflight/upgrade"
	"github.com/berth-project/berth/internal/kube/phrase"
)

const preflightLong = `Check whether Berth may take over a hub of Open Cluster Management, with the registration of clusters.

Prints what to do before Berth starts, in this order: missing definitions and permissions, namespaces that belong to no cluster,
conversions and webhooks without a server, and controllers to turn off. Notes are about what stays as it is. One names clusters whose
agents a change of the hub's CA may cut off; -o json names all of them. Others name the sets of works whose rollout will wait for a
person, since nothing shows that a mandatory group has passed.

The command changes nothing. Exit code 0 means that Berth may start, 1 that there are steps left. You need the permission to read
Deployments, webhooks, definitions and sets of works, and to create SubjectAccessReviews.`

// NewPreflight returns the command that checks a hub before Berth takes it over.
func NewPreflight(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	flags, output := reader.NewHubFlags(), command.OutputFlag{}
	cmd := &cobra.Command{
		Use: "preflight [flags]", Short: "Check what to do before Berth takes over a hub", Long: preflightLong,
		Example: "  # May Berth register the clusters of this hub?\n  kubectl berth preflight",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return command.NewUsageError(cmd, err)
			}
			return runPreflight(cmd.Context(), streams, flags, clock, output.Form)
		},
		DisableFlagsInUseLine: true,
	}
	output.Add(cmd, "`form` of the answer: json (default: steps and notes)", "", "json")
	command.AddHubFlags(cmd, flags)
	return cmd
}

func runPreflight(ctx context.Context, streams genericiooptions.IOStreams, flags *reader.HubFlags, clock clock.PassiveClock,
	output string,
) error {
	hub, err := reader.NewClient(flags, streams.ErrOut, upgrade.NewClient)
	if err != nil {
		return err
	}
	report, err := upgrade.Check(ctx, hub, clock.Now())
	if err != nil {
		return err
	}
	deliveries, err := reader.NewClient(flags, streams.ErrOut, rollouts.NewClient)
	if err != nil {
		return err
	}
	held, err := rollouts.WillHold(ctx, deliveries, clock.Now())
	if err != nil {
		return err
	}
	for _, one := range held {
		report.Notes = append(report.Notes, upgrade.Finding{
			Object:  "ManifestWorkReplicaSet " + one.Set,
			Message: "its rollout over placement " + one.Placement + " will wait: " + one.Message, Remedy: one.Remedy,
		})
	}
	err = printer.WriteBuffered(streams.Out, func(w io.Writer) error {
		if output != "" {
			return printer.WriteData(w, output, report)
		}
		return printReport(w, report)
	})
	if err == nil && len(report.Steps) > 0 {
		return command.UnsatisfiedError{}
	}
	return err
}

// printReport writes the steps with their numbers, and the notes.
func printReport(w io.Writer, report upgrade.Report) error {
	printSteps(w, report.Steps)
	printFindings(w, report.Notes)
	if len(report.Steps) == 0 {
		_, err := fmt.Fprintln(w, "Berth may start on this hub, with the registration of clusters.")
		return err
	}
	_, err := fmt.Fprintf(w, "%s left before Berth may start.\n", phrase.Count(len(report.Steps), "step"))
	return err
}
