package argo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/bridge/argocd"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
)

const argoSetupLong = `Print what Argo CD needs to follow a placement, as YAML for kubectl apply: the ConfigMap of the generator clusterDecisionResource, the
permission of the ApplicationSet controller to list decisions, and an ApplicationSet with an Application for each selected cluster.

The placement is in the namespace of Argo CD (-n, argocd by default), because the generator lists no other namespace. The command reads
no hub and writes nothing.

With preserveResourcesOnDeletion, which the ApplicationSet has, a cluster that leaves the decision loses its Application and keeps its
workload.`

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

const argoLabelsLong = `Copy labels and claims of clusters to the labels of their cluster Secrets, so that generators and templates of Argo CD can use them.

Only Secrets that exist are labelled: credentials are never made. A label that was not copied before is never changed. A copied label
goes when its cluster no longer has it, or when it is left out of the command line. The command reads the metadata of Secrets only.

Without --yes the command prints what it would do, and changes nothing. You need the permission to list ManagedClusters, and to list
and patch Secrets in the namespace of Argo CD (-n, argocd by default).`

func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	return command.NewGroup("argo", "Let Argo CD follow decisions, and check what it lacks",
		newArgoSetup(streams), newArgoCheck(streams), newArgoLabels(streams))
}

func newArgoSetup(streams genericiooptions.IOStreams) *cobra.Command {
	setup := argocd.Setup{}
	cmd := &cobra.Command{
		Use: "setup PLACEMENT [flags]", Short: "Print what Argo CD needs to follow a placement", Long: argoSetupLong,
		Example: `  # What Argo CD needs to follow the placement web
  kubectl berth argo setup web --repo https://git.example.com/app.git --path deploy | kubectl apply -f -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.NewUsageError(cmd, errors.New("name one placement: argo setup PLACEMENT"))
			}
			setup.Placement = args[0]
			if err := setup.Check(); err != nil {
				return command.NewUsageError(cmd, err)
			}
			return printer.WriteBuffered(streams.Out, setup.Print)
		},
		DisableFlagsInUseLine: true,
	}
	flags := cmd.Flags()
	flags.StringVarP(&setup.Namespace, "namespace", "n", argocd.Namespace, "`namespace` of Argo CD, where the placement is too")
	flags.StringVar(&setup.ServiceAccount, "service-account", argocd.ServiceAccount, "service `account` of the ApplicationSet controller")
	flags.StringVar(&setup.Repository, "repo", "https://git.example.com/app.git", "`URL` of the repository of the Applications")
	flags.StringVar(&setup.Path, "path", "deploy", "`path` in the repository")
	flags.DurationVar(&setup.Poll, "poll", 30*time.Second, "how `often` the generator reads the decision")
	completion.Register(cmd, "namespace", cobra.NoFileCompletions) // the command reads no hub
	return cmd
}

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
		return report.Print(w)
	})
	if err == nil && len(report.Steps) > 0 {
		return command.UnsatisfiedError{}
	}
	return err
}

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

func copyLabels(ctx context.Context, streams genericiooptions.IOStreams, flags *reader.HubFlags, options argocd.LabelOptions, yes bool) error {
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
	return printer.WriteBuffered(streams.Out, func(w io.Writer) error { return plan.Print(w, yes) })
}
