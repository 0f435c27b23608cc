package cluster

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/membership/join"
)

const acceptLong = `Accept clusters: their agents get their permissions on the hub, and placements may select them.

An agent of Open Cluster Management has a bootstrap identity that all clusters share. Its certificate request is approved with the
cluster, unless there are several.

An agent whose service account was deleted is revoked. To accept its cluster lets the hub create another account, for an agent with
another join token.

A cluster that was made anew under its old name is another member: its condition ClusterIdentityConflict is True, and its agent waits.
With --replace, the hub records the member whose request waits, approves the request, and stops the reports of the former one. Requests
of several members are an error that lists them. An agent that authenticates by a token loses its service account, and with it every
token. Join tokens that the new member does not use end as well. A client certificate of the former agent stays valid until it expires.

A member that is another cluster already is refused: two agents on one member undo each other's work. Machines that were made from the
image of one disk have one UID, and are two members: --shared-identity accepts such a cluster.

You need the permission to update managedclusters/accept in the API group register.open-cluster-management.io, to list clusters, and to
approve certificate requests. With --replace, you also need to delete the service account berth-agent in the namespace of the cluster, and
the one of the cluster in berth-join.`

const acceptExamples = `  # Accept the clusters edge-1 and edge-2
  kubectl berth accept edge-1 edge-2

  # The cluster edge-1 was made anew: accept its new member
  kubectl berth accept edge-1 --replace

  # The machine of edge-2 was made from the image of another one: accept it knowingly
  kubectl berth accept edge-2 --shared-identity`

const denyLong = `Deny clusters: their agents lose their permissions on the hub, and placements select them no more.

Works stay on a denied cluster, and accepting it again restores everything. A cluster that is denied and then deleted keeps its workloads
on the member, since its agent may do nothing any more. To remove both, run "kubectl berth unjoin" while the cluster is accepted. A
certificate stays valid until it expires; it has no permissions meanwhile.`

// deniedNote is what follows for the workloads of a denied cluster.
const deniedNote = "note: if %[1]s is deleted now, what its works applied stays on the member, since its agent may do nothing any more; " +
	"to remove that too, accept it again and run: kubectl berth unjoin %[1]s\n"

// acceptOptions is the command line of `kubectl berth accept` and `kubectl berth deny`.
type acceptOptions struct {
	streams                   genericiooptions.IOStreams
	flags                     *reader.HubFlags
	accepted, replace, shared bool
}

// NewAccept returns the command that accepts clusters.
func NewAccept(streams genericiooptions.IOStreams) *cobra.Command {
	return newSetAccepted(streams, true, &cobra.Command{
		Use: "accept NAME... [flags]", Short: "Accept clusters that want to join", Long: acceptLong, Example: acceptExamples,
	})
}

// NewDeny returns the command that denies clusters.
func NewDeny(streams genericiooptions.IOStreams) *cobra.Command {
	return newSetAccepted(streams, false, &cobra.Command{
		Use: "deny NAME... [flags]", Short: "Deny clusters, which withdraws the permissions of their agents", Long: denyLong,
		Example: "  # Withdraw the permissions of the agent of edge-1\n  kubectl berth deny edge-1",
	})
}

func newSetAccepted(streams genericiooptions.IOStreams, accepted bool, cmd *cobra.Command) *cobra.Command {
	o := &acceptOptions{streams: streams, flags: reader.NewHubFlags(), accepted: accepted}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return command.NewUsageError(cmd, fmt.Errorf("name the clusters: %s NAME", cmd.Name()))
		}
		return nil
	}
	cmd.ValidArgsFunction = completion.Of(o.flags).All(reader.ClusterKind())
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) }
	cmd.DisableFlagsInUseLine = true
	if accepted {
		cmd.Flags().BoolVar(&o.shared, "shared-identity", false,
			"accept that the member has the UID of another cluster's, as machines made from one image have")
		cmd.Flags().BoolVar(&o.replace, "replace", false,
			"accept the other member that requests to take over the cluster, in place of the recorded one")
	}
	command.AddHubFlags(cmd, o.flags)
	return cmd
}

func (o *acceptOptions) run(ctx context.Context, names []string) error {
	hub, err := reader.NewClient(o.flags, o.streams.ErrOut, join.NewClient)
	if err != nil {
		return err
	}
	for _, name := range names {
		if o.replace {
			err = o.replaceMember(ctx, hub, name)
		} else {
			err = o.set(ctx, hub, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replaceMember accepts another member under the name of a cluster.
func (o *acceptOptions) replaceMember(ctx context.Context, hub client.Client, name string) error {
	uid, err := join.Replace(ctx, hub, name)
	if err != nil {
		return err
	}
	member := "the next that joins by a token"
	if uid != "" {
		member = "the one with the UID " + uid
	}
	printer.Printf(o.streams.Out, "managedcluster %s accepted: its member is %s\n", name, member)
	return nil
}

// checkIdentity refuses a cluster whose member is another cluster, unless that is accepted as well.
func (o *acceptOptions) checkIdentity(ctx context.Context, hub client.Client, name string) error {
	if !o.accepted {
		return nil
	}
	if o.shared {
		if err := join.ShareIdentity(ctx, hub, name); err != nil {
			return err
		}
	}
	return join.CheckIdentity(ctx, hub, name)
}

// set accepts or denies a cluster.
func (o *acceptOptions) set(ctx context.Context, hub client.Client, name string) error {
	if err := o.checkIdentity(ctx, hub, name); err != nil {
		return err
	}
	changed, err := join.SetAccepted(ctx, hub, name, o.accepted)
	if err != nil {
		return err
	}
	verb := map[bool]string{true: "accepted", false: "denied"}[o.accepted]
	if !changed {
		verb += " already"
	}
	printer.Printf(o.streams.Out, "managedcluster %s %s\n", name, verb)
	if !o.accepted {
		printer.Printf(o.streams.ErrOut, deniedNote, name)
		return nil
	}
	request, err := join.ApproveShared(ctx, hub, name)
	if err == nil && request != "" {
		printer.Printf(o.streams.Out, "certificatesigningrequest %s approved\n", request)
	}
	return err
}
