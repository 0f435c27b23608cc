package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/source/file"
)

const treeLong = `Show which placements selected a cluster: the sets of the cluster, the namespaces that each set is bound to, and the
placements of each namespace, with the cluster's group and since when.

A decision has no time. The tree prints the age of the slice that holds the cluster, so "at most 3d" may be less.

A namespace without a binding to a set of the cluster is about to lose the cluster; the tree marks it.

Without the permission to list the hub, the tree has the objects that you may see; a note on standard error reports this.`

const treeExamples = `  # Which placements does maintenance of a cluster affect?
  kubectl berth tree cluster eu-1

  # The namespaces to notify
  kubectl berth tree cluster eu-1 -o json | jq -r '.placements[].namespace' | sort -u

  # From what was saved from a hub
  kubectl berth tree cluster eu-1 -f fleet.yaml -f namespaces.yaml`

// treeInfo is the placements that selected a cluster, and the namespaces that may.
type treeInfo struct {
	Cluster string `json:"cluster"`
	// Sets are the sets of the cluster, each with the namespaces that are bound to it.
	Sets []treeSet `json:"sets"`
	// Placements are the placements that selected the cluster, by namespace and name.
	Placements []treePlacement `json:"placements"`
	// Namespaces is how many of them have done so, Reaching how many could.
	Namespaces int `json:"namespaces"`
	Reaching   int `json:"reachingNamespaces"`
}

type treeSet struct {
	Name       string   `json:"name"`
	Namespaces []string `json:"namespaces"`
}

type treePlacement struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Group     string `json:"group,omitempty"`
	GroupName string `json:"groupName,omitempty"`
	Slice     string `json:"slice"`
	// NotBefore is when the slice was created that holds the cluster.
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
	// Bound is whether a set of the cluster is bound to the namespace.
	Bound bool `json:"bound"`
}

// treeOptions is the command line of `kubectl berth tree`.
type treeOptions struct {
	source *fleetSource
	output string
}

func newTree(streams genericiooptions.IOStreams, clock clock.PassiveClock) *cobra.Command {
	t := &treeOptions{source: newFleetSource(streams, clock)}
	cmd := &cobra.Command{
		Use:               "tree cluster NAME [flags]",
		Short:             "Show which placements selected a cluster",
		Long:              treeLong,
		Example:           treeExamples,
		ValidArgsFunction: t.source.hubFlags.completeTree,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = kindAndName(args)
			if err := t.complete(args); err != nil {
				return usageError{cmd, err}
			}
			return t.run(cmd.Context(), args[1])
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().StringVarP(&t.output, "output", "o", "table", "`form` of the result: table, json or yaml")
	t.source.addFlags(cmd.Flags())
	t.source.hubFlags.completeFlags(cmd, []string{"table", "json", "yaml"})
	return cmd
}

func (t *treeOptions) complete(args []string) error {
	const wanted = 2
	switch {
	case len(args) == 0:
		return errors.New("name a cluster: tree cluster NAME")
	case !clusterKind().is(args[0]):
		return unknownKind(args[0], "only a cluster has a tree", clusterKind().names)
	case len(args) < wanted:
		return errors.New("name a cluster: tree cluster NAME")
	case len(args) > wanted:
		return fmt.Errorf("unexpected argument %q: one cluster at a time", args[wanted])
	}
	return checkOutput(t.output, "table", "json", "yaml")
}

func (t *treeOptions) run(ctx context.Context, name string) error {
	bundle, err := t.source.load(ctx, scope{
		kinds: []kind{clusterKind(), setKind(), bindingKind(), decisionKind()}, cluster: name, uncompiled: true,
	})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(bundle.Clusters, func(cluster *clusterv1.ManagedCluster) bool { return cluster.Name == name })
	if at < 0 {
		return fmt.Errorf("there is no cluster %q", name)
	}
	fact := newTreeInfo(bundle, bundle.Clusters[at])
	return writeBuffered(t.source.streams.Out, func(w io.Writer) error {
		if t.output != "table" {
			return printData(w, t.output, fact)
		}
		return fact.print(w, screenOf(t.source.streams.Out, os.Getenv), t.source.clock.Now())
	})
}

func newTreeInfo(bundle *file.Bundle, cluster *clusterv1.ManagedCluster) treeInfo {
	bound := map[string][]string{}
	for _, binding := range bundle.Bindings {
		bound[binding.Name] = append(bound[binding.Name], binding.Namespace)
	}
	out := treeInfo{Cluster: cluster.Name, Sets: []treeSet{}, Placements: []treePlacement{}}
	reaching, choosing := map[string]bool{}, map[string]bool{}
	for _, set := range setNamesOf(cluster, compiledSets(bundle)) {
		namespaces := sorted(bound[set])
		for _, namespace := range namespaces {
			reaching[namespace] = true
		}
		out.Sets = append(out.Sets, treeSet{set, namespaces})
	}
	keys := make([]fleet.Key, 0, len(bundle.Decisions))
	for key := range bundle.Decisions {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, fleet.Key.Compare)
	for _, key := range keys {
		if slice := sliceWith(bundle.Decisions[key], cluster.Name); slice != nil {
			choosing[key.Namespace] = true
			out.Placements = append(out.Placements, treePlacement{
				Namespace: key.Namespace, Name: strings.TrimPrefix(key.Name, "/"), Slice: slice.Name, NotBefore: creationTime(slice),
				Group:     slice.Labels[clusterv1beta1.DecisionGroupIndexLabel],
				GroupName: slice.Labels[clusterv1beta1.DecisionGroupNameLabel], Bound: reaching[key.Namespace],
			})
		}
	}
	out.Namespaces, out.Reaching = len(choosing), len(reaching)
	return out
}

// sliceWith returns the slice that holds a cluster; nil where none does.
func sliceWith(stored []*clusterv1beta1.PlacementDecision, cluster string) *clusterv1beta1.PlacementDecision {
	for _, slice := range stored {
		if slices.Contains(plan.Clusters(slice), cluster) {
			return slice
		}
	}
	return nil
}

// print draws the tree.
func (f treeInfo) print(w io.Writer, on screen, now time.Time) error {
	printf(w, "%s: %s in %s; %s could choose it\n", f.Cluster, count(len(f.Placements), "placement"),
		count(f.Namespaces, "namespace"), count(f.Reaching, "namespace"))
	fmt.Fprintln(w, "\nSets")
	sets := newTable(w, "  ")
	sets.screen, sets.flexible = on, []int{1}
	for _, set := range f.Sets {
		sets.row(set.Name, "bound to "+joinOrDash(set.Namespaces))
	}
	if len(f.Sets) == 0 {
		sets.row(dash)
	}
	if err := sets.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nPlacements")
	placements := newTable(w, "")
	placements.screen = on
	last := ""
	for _, p := range f.Placements {
		if p.Namespace != last {
			placements.add([]cell{{text: "  " + p.Namespace}})
			last = p.Namespace
		}
		placements.add(p.cells(now))
	}
	if len(f.Placements) == 0 {
		placements.row("  " + dash)
	}
	return placements.Flush()
}

func (p treePlacement) cells(now time.Time) []cell {
	group, since := "in no group", "since -"
	if p.Group != "" {
		group = "group " + p.Group
	}
	if p.GroupName != "" {
		group += " " + p.GroupName
	}
	if p.NotBefore != nil {
		since = "at most " + duration.HumanDuration(max(0, now.Sub(p.NotBefore.Time)))
	}
	out := plainCells("    "+p.Name, group, since)
	if !p.Bound {
		out = append(out, cell{"no set of the cluster is bound here", styleWarning})
	}
	return out
}
