package resource

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/reader"
	"github.com/berth-project/berth/internal/source/file"
)

// groupInfo is what is shown of a decision group.
type groupInfo struct {
	Namespace string `json:"namespace"`
	Placement string `json:"placement"`
	// Index is absent when the slices lack the label.
	Index    string   `json:"index,omitempty"`
	Name     string   `json:"name,omitempty"`
	Clusters []string `json:"clusters"`
	// Slices names the PlacementDecisions that hold the clusters.
	Slices []string `json:"slices"`
}

func groupPrinter() Printer {
	return Printer{
		names:  []string{"groups", "group", "gr"},
		Object: reader.PlacementKind(),
		Kinds:  []reader.Kind{reader.PlacementKind(), reader.DecisionKind()},
		Columns: []column{
			{Title: "GROUP"}, {Title: "GROUP-NAME"}, {Title: "COUNT"}, {Title: "CLUSTERS", Flexible: true}, {Title: "SLICES", Flexible: true},
		},
		Rows: groupRows,
	}
}

func groupRows(bundle *file.Bundle, _ time.Time) []Row {
	var out []Row
	for _, placement := range bundle.Placements {
		for _, group := range GroupsOf(bundle.Decisions[file.KeyOf(placement)]) {
			fact := groupInfo{
				Namespace: placement.Namespace, Placement: placement.Name, Index: group.Index, Name: group.Name,
				Clusters: printer.Sorted(group.Clusters), Slices: group.Slices,
			}
			out = append(out, Row{
				Namespace: placement.Namespace, Name: placement.Name, Labels: placement.Labels, Info: fact,
				path: placement.Namespace + "/" + placement.Name + "/" + cmp.Or(group.Index, printer.Dash),
				Cells: printer.PlainCells(cmp.Or(group.Index, printer.Dash), cmp.Or(group.Name, printer.Dash), strconv.Itoa(len(fact.Clusters)),
					printer.JoinOrDash(fact.Clusters), printer.JoinOrDash(fact.Slices)),
			})
		}
	}
	return out
}

// Group is a decision group, read from the stored slices.
type Group struct {
	Index, Name      string
	Clusters, Slices []string
}

// GroupsOf returns the decision groups that the slices of a placement make, by index.
func GroupsOf(stored []*clusterv1beta1.PlacementDecision) []Group {
	var out []Group
	at := map[[2]string]int{}
	for _, slice := range stored {
		index, name := slice.Labels[clusterv1beta1.DecisionGroupIndexLabel], slice.Labels[clusterv1beta1.DecisionGroupNameLabel]
		key := [2]string{index, name}
		if _, known := at[key]; !known {
			at[key] = len(out)
			out = append(out, Group{Index: index, Name: name})
		}
		group := &out[at[key]]
		group.Clusters = append(group.Clusters, plan.Clusters(slice)...)
		group.Slices = append(group.Slices, slice.Name)
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(len(a.Index), len(b.Index)), cmp.Compare(a.Index, b.Index))
	})
	return out
}
