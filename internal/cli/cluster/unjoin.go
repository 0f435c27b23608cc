package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/membership/join"
)

const unjoinLong = `Remove a cluster from the hub: delete its ManagedCluster and wait until it is gone.

The command first prints the works and the add-ons that go with the cluster, and requests a confirmation on a terminal. Elsewhere it
needs --yes. The agent deletes what the works applied on the member; with --keep-workloads all of it stays there. The workloads of a denied
cluster stay in any case, since its agent may do nothing any more.

The hub removes add-ons first, then works, then the permissions of the agent and the namespace. It waits for the agent where the
cluster still holds works. You need the permissions to get, patch and delete the cluster; without those to list its works and add-ons, the
command prints none. With --member-kubeconfig an agent that "kubectl berth join --image" installed is removed from the member afterwards.`

const unjoinExamples = `  # Remove edge-1 from the hub, and its agent from the member
  kubectl berth unjoin edge-1 --member-kubeconfig edge-1.kubeconfig

  # Remove edge-1 from the hub in a script, and leave its workloads on the member
  kubectl berth unjoin edge-1 --keep-workloads --yes`

// unjoinOptions is the command line of `kubectl berth unjoin`.
type unjoinOptions struct {
	streams genericiooptions.IOStreams
	flags   *reader.HubFlags

	memberKubeconfig string
	timeout          time.Duration
	yes, keep        bool
}

// NewUnjoin returns the command `kubectl berth unjoin`.
func NewUnjoin(streams genericiooptions.IOStreams) *cobra.Command {
	o := &unjoinOptions{streams: streams, flags: reader.NewHubFlags()}
	cmd := &cobra.Command{
		Use: "unjoin NAME [flags]", Short: "Remove a cluster from the hub", Long: unjoinLong, Example: unjoinExamples,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.NewUsageError(cmd, fmt.Errorf("name one cluster: %s NAME", cmd.Name()))
			}
			return nil
		},
		ValidArgsFunction: completion.Of(o.flags).One(reader.ClusterKind()),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0])
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().StringVar(&o.memberKubeconfig, "member-kubeconfig", "", "`file` with the kubeconfig of the member, to remove its agent too")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "delete the cluster without a confirmation on the terminal")
	cmd.Flags().BoolVar(&o.keep, "keep-workloads", false, "leave on the member what the works of the cluster applied")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "how `long` to wait until the cluster is gone")
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

func (o *unjoinOptions) run(ctx context.Context, name string) error {
	hub, err := reader.NewClient(o.flags, o.streams.ErrOut, join.NewClient)
	if err != nil {
		return err
	}
	removal, err := join.ReadRemoval(ctx, hub, name)
	if err != nil {
		return err
	}
	if o.keep && !removal.Denied {
		if err := join.CheckKept(ctx, hub, name); err != nil {
			return err
		}
	}
	for line := range strings.Lines(removalText(removal, o.keep)) { // the printer escapes line feeds of what it is given
		printer.Printf(o.streams.Out, "%s\n", strings.TrimSuffix(line, "\n"))
	}
	if !o.yes {
		if err := confirm(o.streams, printer.IsTerminal(o.streams.In), name); err != nil {
			return err
		}
	}
	onDelete := clusterv1.OnDeleteRemove
	if o.keep {
		onDelete = clusterv1.OnDeleteKeep
	}
	if err := join.Delete(ctx, hub, name, onDelete, o.timeout); err != nil {
		return err
	}
	printer.Printf(o.streams.Out, "managedcluster %s deleted\n", name)
	if o.memberKubeconfig == "" {
		return nil
	}
	memberConfig, err := clientcmd.BuildConfigFromFlags("", o.memberKubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of the member: %w", err)
	}
	member, err := join.NewClient(memberConfig)
	if err != nil {
		return err
	}
	if err := join.Uninstall(ctx, member); err != nil {
		return err
	}
	printer.Printf(o.streams.Out, "the agent of %s removed from the member\n", name)
	return nil
}
