package tree

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/cli/resource"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/source/file"
)

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

func (o *options) run(ctx context.Context, name string) error {
	bundle, err := o.source.Load(ctx, reader.Scope{
		Kinds: []reader.Kind{reader.ClusterKind(), reader.SetKind(), reader.BindingKind(), reader.DecisionKind()}, Cluster: name,
		Uncompiled: true,
	})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(bundle.Clusters, func(cluster *clusterv1.ManagedCluster) bool { return cluster.Name == name })
	if at < 0 {
		return fmt.Errorf("there is no cluster %q", name)
	}
	fact := newTreeInfo(bundle, bundle.Clusters[at])
	return printer.WriteBuffered(o.source.Streams.Out, func(w io.Writer) error {
		if o.output.Form != "table" {
			return printer.WriteData(w, o.output.Form, fact)
		}
		return fact.print(w, printer.ScreenOf(o.source.Streams.Out, os.Getenv), o.source.Clock.Now())
	})
}

func newTreeInfo(bundle *file.Bundle, cluster *clusterv1.ManagedCluster) treeInfo {
	bound := map[string][]string{}
	for _, binding := range bundle.Bindings {
		bound[binding.Name] = append(bound[binding.Name], binding.Namespace)
	}
	out := treeInfo{Cluster: cluster.Name, Sets: []treeSet{}, Placements: []treePlacement{}}
	reaching, choosing := map[string]bool{}, map[string]bool{}
	for _, set := range resource.SetNamesOf(cluster, resource.CompiledSets(bundle)) {
		namespaces := printer.Sorted(bound[set])
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
				Namespace: key.Namespace, Name: strings.TrimPrefix(key.Name, "/"), Slice: slice.Name, NotBefore: printer.CreationTime(slice),
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
func (t treeInfo) print(w io.Writer, on printer.Screen, now time.Time) error {
	printer.Printf(w, "%s: %s in %s; %s could choose it\n", t.Cluster, phrase.Count(len(t.Placements), "placement"),
		phrase.Count(t.Namespaces, "namespace"), phrase.Count(t.Reaching, "namespace"))
	fmt.Fprintln(w, "\nSets")
	sets := printer.NewTable(w, "  ")
	sets.Screen, sets.Flexible = on, []int{1}
	for _, set := range t.Sets {
		sets.Row(set.Name, "bound to "+printer.JoinOrDash(set.Namespaces))
	}
	if len(t.Sets) == 0 {
		sets.Row(printer.Dash)
	}
	if err := sets.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nPlacements")
	placements := printer.NewTable(w, "")
	placements.Screen = on
	last := ""
	for _, p := range t.Placements {
		if p.Namespace != last {
			placements.Add([]printer.Cell{{Text: "  " + p.Namespace}})
			last = p.Namespace
		}
		placements.Add(p.cells(now))
	}
	if len(t.Placements) == 0 {
		placements.Row("  " + printer.Dash)
	}
	return placements.Flush()
}

func (p treePlacement) cells(now time.Time) []printer.Cell {
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
	out := printer.PlainCells("    "+p.Name, group, since)
	if !p.Bound {
		out = append(out, printer.StyledCell("no set of the cluster is bound here", printer.StyleWarning))
	}
	return out
}
