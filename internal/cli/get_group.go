package cli

import (
	"cmp"
	"strconv"
	"time"

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

func groupPrinter() resourcePrinter {
	return resourcePrinter{
		names:  []string{"groups", "group", "gr"},
		object: placementKind(),
		kinds:  []kind{placementKind(), decisionKind()},
		columns: []column{
			{title: "GROUP"}, {title: "GROUP-NAME"}, {title: "COUNT"}, {title: "CLUSTERS", flexible: true}, {title: "SLICES", flexible: true},
		},
		rows: groupRows,
	}
}

func groupRows(bundle *file.Bundle, _ time.Time) []resourceRow {
	var out []resourceRow
	for _, placement := range bundle.Placements {
		for _, group := range groupsOf(bundle.Decisions[file.KeyOf(placement)]) {
			fact := groupInfo{
				Namespace: placement.Namespace, Placement: placement.Name, Index: group.index, Name: group.name,
				Clusters: sorted(group.clusters), Slices: group.slices,
			}
			out = append(out, resourceRow{
				namespace: placement.Namespace, name: placement.Name, labels: placement.Labels, info: fact,
				path: placement.Namespace + "/" + placement.Name + "/" + cmp.Or(group.index, dash),
				cells: plainCells(cmp.Or(group.index, dash), cmp.Or(group.name, dash), strconv.Itoa(len(fact.Clusters)),
					joinOrDash(fact.Clusters), joinOrDash(fact.Slices)),
			})
		}
	}
	return out
}
