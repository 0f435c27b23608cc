package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/berth-project/berth/internal/cli/join"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/source"
)

const acceptLong = `Accept clusters: their agents get their permissions on the hub, and placements may select them.

An agent of Open Cluster Management has a bootstrap identity that all clusters share. Its certificate request is approved with the
cluster, unless there are several.

You need the permission to update managedclusters/accept in the API group register.open-cluster-management.io, and to approve
certificate requests.`

const denyLong = `Deny clusters: their agents lose their permissions on the hub, and placements select them no more.

Works stay on a denied cluster, and accepting it again restores everything. A certificate stays valid until it expires; it
has no permissions meanwhile.`

// newAccept returns the command that accepts clusters.
func newAccept(streams genericiooptions.IOStreams) *cobra.Command {
	return newSetAccepted(streams, true, &cobra.Command{
		Use: "accept NAME... [flags]", Short: "Accept clusters that want to join", Long: acceptLong,
		Example: "  # Accept the clusters edge-1 and edge-2\n  kubectl berth accept edge-1 edge-2",
	})
}

// newDeny returns the command that denies clusters.
func newDeny(streams genericiooptions.IOStreams) *cobra.Command {
	return newSetAccepted(streams, false, &cobra.Command{
		Use: "deny NAME... [flags]", Short: "Deny clusters, which withdraws the permissions of their agents", Long: denyLong,
		Example: "  # Withdraw the permissions of the agent of edge-1\n  kubectl berth deny edge-1",
	})
}

func newSetAccepted(streams genericiooptions.IOStreams, accepted bool, cmd *cobra.Command) *cobra.Command {
	flags := source.NewHubFlags()
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return source.NewUsageError(cmd, fmt.Errorf("name the clusters: %s NAME", cmd.Name()))
		}
		return nil
	}
	cmd.ValidArgsFunction = completer{flags}.completeAll(source.ClusterKind())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return setAccepted(cmd.Context(), streams, flags, args, accepted)
	}
	cmd.DisableFlagsInUseLine = true
	flags.Add(cmd.Flags())
	completer{flags}.completeHubFlags(cmd)
	return cmd
}

func setAccepted(ctx context.Context, streams genericiooptions.IOStreams, flags *source.HubFlags, names []string, accepted bool) error {
	config, err := flags.RESTConfig(streams.ErrOut)
	if err != nil {
		return err
	}
	hub, err := join.NewClient(config)
	if err != nil {
		return err
	}
	verb := map[bool]string{true: "accepted", false: "denied"}[accepted]
	for _, name := range names {
		changed, err := join.SetAccepted(ctx, hub, name, accepted)
		if err != nil {
			return err
		}
		unchanged := ""
		if !changed {
			unchanged = " already"
		}
		printer.Printf(streams.Out, "managedcluster %s %s%s\n", name, verb, unchanged)
		if !accepted {
			continue
		}
		request, err := join.ApproveShared(ctx, hub, name)
		if err != nil {
			return err
		}
		if request != "" {
			printer.Printf(streams.Out, "certificatesigningrequest %s approved\n", request)
		}
	}
	return nil
}
