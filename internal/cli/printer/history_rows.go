package printer

import (
	"fmt"
	"strings"
	"time"

	"github.com/berth-project/berth/engine/explain"
)

// AddHistoryRows adds to a table the titles, a row for each cluster that moved, and one for the clusters that are not listed.
func AddHistoryRows(to *Table, changes []explain.Change) {
	to.Row("TIME", "CLUSTER", "CHANGE", "CAUSE")
	for _, change := range changes {
		at, cause := change.At.UTC().Format(time.RFC3339), causesText(change)
		for _, move := range change.Moves {
			to.Row(at, move.Cluster, moveText(move), cause)
		}
		for _, cluster := range change.RegroupedClusters {
			to.Row(at, cluster, "regrouped: "+change.RegroupReason, cause)
		}
		if rest := change.More + change.Hidden; rest > 0 {
			to.Row(at, fmt.Sprintf("(%d others)", rest), "", cause)
		}
	}
}

// moveText describes how a cluster was added or removed.
func moveText(move explain.Move) string {
	if move.Restored {
		return "restored: its PlacementDecision was deleted"
	}
	out := "removed"
	if move.Added {
		out = "added"
	}
	found := move.After
	if move.Added {
		found = move.Before
	}
	switch {
	case found == nil:
	case found.Why != "" && move.Added:
		out += ", was " + found.Verdict + ": " + found.Why
	case move.Added:
		out += ", was " + found.Verdict
	case found.Why != "":
		out += ", " + found.Verdict + ": " + found.Why
	default:
		out += ", " + found.Verdict
	}
	return out
}

func causesText(change explain.Change) string {
	var out []string
	for _, cause := range change.Causes {
		out = append(out, cause.String())
	}
	if change.MoreCauses > 0 {
		out = append(out, fmt.Sprintf("and %d more", change.MoreCauses))
	}
	return strings.Join(out, "; ")
}
