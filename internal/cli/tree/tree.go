package tree

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/cli/command"
	"github.com/berth-project/berth/internal/cli/completion"
	"github.com/berth-project/berth/internal/cli/reader"
)

const long = `Show which placements selected a cluster: the sets of the cluster, the namespaces that each set is bound to, and the
placements of each namespace, with the cluster's group and since when.

A decision has no time. The tree prints the age of the slice that holds the cluster, so "at most 3d" may be less.

A namespace without a binding to a set of the cluster is about to lose the cluster; the tree marks it.

The tree of a placement has the ManifestWorkReplicaSets that deliver to its clusters, their works, and the objects of each work as its
agent reports them. That of a ManifestWorkReplicaSet (mwrs) has its works and objects.

Without the permission to list the hub, the tree has the objects that you may see; a note on standard error reports this.`

const examples = `  # Which placements does maintenance of a cluster affect?
  kubectl berth tree cluster eu-1

  # The namespaces to notify
  kubectl berth tree cluster eu-1 -o json | jq -r '.placements[].namespace' | sort -u

  # What is delivered to the clusters of a placement?
  kubectl berth tree placement web -n shop

  # From what was saved from a hub
  kubectl berth tree cluster eu-1 -f fleet.yaml -f namespaces.yaml`

// options is the command line of `kubectl berth tree`.
type options struct {
	source *reader.Fleet
	output command.OutputFlag
}

// NewCommand returns the command `kubectl berth tree`.
func NewCommand(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	o := &options{source: reader.NewFleet(streams, clock)}
	cmd := &cobra.Command{
		Use:               "tree cluster|placement|manifestworkreplicaset NAME [flags]",
		Short:             "Show which placements selected a cluster, or what is delivered to clusters",
		Long:              long,
		Example:           examples,
		ValidArgsFunction: o.completeObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = reader.KindAndName(args)
			if err := o.complete(args); err != nil {
				return command.NewUsageError(cmd, err)
			}
			for _, kind := range deliveredKinds() {
				if kind.Is(args[0]) {
					return o.runDelivery(cmd.Context(), kind, args[1])
				}
			}
			return o.run(cmd.Context(), args[1])
		},
		DisableFlagsInUseLine: true,
	}
	o.output.Add(cmd, "`form` of the result: table, json or yaml", "table", "json", "yaml")
	command.AddFleetFlags(cmd, o.source)
	return cmd
}

// completeObject names the kinds that have a tree, then what there is of one.
func (o *options) completeObject(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return completion.WithPrefix([]string{"cluster", "placement", "manifestworkreplicaset"}, start), cobra.ShellCompDirectiveNoFileComp
	}
	for _, k := range deliveredKinds() {
		if k.Is(args[0]) {
			return completion.Of(o.source.HubFlags).One(k)(cmd, args[1:], start)
		}
	}
	return completion.Of(o.source.HubFlags).One(reader.ClusterKind())(cmd, args[1:], start)
}

func (o *options) complete(args []string) error {
	const wanted = 2
	switch {
	case len(args) == 0:
		return errors.New("name a cluster, a placement or a set of works: tree cluster NAME")
	case !slices.ContainsFunc(treeKinds(), func(k reader.Kind) bool { return k.Is(args[0]) }):
		var names [][]string
		for _, k := range treeKinds() {
			names = append(names, k.Names)
		}
		return reader.UnknownKind(args[0], "only a cluster, a placement and a manifestworkreplicaset have a tree", names...)
	case len(args) < wanted:
		return fmt.Errorf("name the object: tree %s NAME", args[0])
	case len(args) > wanted:
		return fmt.Errorf("unexpected argument %q: one object at a time", args[wanted])
	}
	return o.output.Check()
}

// deliveredKinds are the kinds whose tree is that of a delivery; treeKinds are all kinds with a tree.
func deliveredKinds() []reader.Kind {
	return []reader.Kind{reader.PlacementKind(), reader.WorkSetKind()}
}

func treeKinds() []reader.Kind {
	return append([]reader.Kind{reader.ClusterKind()}, deliveredKinds()...)
}
