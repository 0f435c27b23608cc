package offline

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/verdict"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/resource"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// PrintTable writes a summary of all placements, then for each its groups and the verdicts on those not selected.
func PrintTable(w io.Writer, decided []Decision) error {
	if len(decided) == 0 {
		return nil
	}
	table := printer.NewTable(w, "")
	table.Row("PLACEMENT", "SATISFIED", "REASON", "SELECTED", "WANTED", "GROUPS")
	for _, d := range decided {
		condition := d.satisfied()
		table.Row(d.Key.String(), string(condition.Status), cmp.Or(condition.Reason, printer.Dash),
			strconv.Itoa(len(d.Clusters())), d.wanted(), strconv.Itoa(len(d.Groups())))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, d := range decided {
		if err := d.print(w); err != nil {
			return err
		}
	}
	return nil
}

func (d Decision) satisfied() metav1.Condition {
	found := meta.FindStatusCondition(d.Placement.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied)
	if found == nil {
		return metav1.Condition{Status: metav1.ConditionUnknown}
	}
	return *found
}

func (d Decision) wanted() string {
	if wanted := d.Placement.Spec.NumberOfClusters; wanted != nil {
		return strconv.Itoa(int(*wanted))
	}
	return "all"
}

// print writes the section of one placement.
func (d Decision) print(w io.Writer) error {
	printer.Printf(w, "\n%s\n", d.Key)
	for _, line := range d.notes() {
		printer.Printf(w, "  %s\n", line)
	}
	if err := printGroups(w, d.Groups()); err != nil || d.Result == nil {
		return err
	}
	return d.printVerdicts(w)
}

func printGroups(w io.Writer, groups []resource.Group) error {
	if len(groups) == 0 {
		return nil
	}
	table := printer.NewTable(w, "  ")
	table.Row("GROUP", "NAME", "COUNT", "CLUSTERS")
	for _, group := range groups {
		table.Row(cmp.Or(group.Index, printer.Dash), cmp.Or(group.Name, printer.Dash),
			strconv.Itoa(len(group.Clusters)), cmp.Or(phrase.Join(group.Clusters, printer.MaxMembers), printer.Dash))
	}
	return table.Flush()
}

// printVerdicts writes why clusters are not selected, or merely held. The others are in the groups.
func (d Decision) printVerdicts(w io.Writer) error {
	of := explain.Of(d.Result, d.Placement, nil)
	rows := slices.DeleteFunc(of.Rows(), func(row explain.Row) bool {
		return row.Verdict == verdict.Selected.String() || row.Verdict == verdict.Kept.String()
	})
	return printer.WriteVerdictRows(w, "  ", rows, printer.ScreenOf(w, os.Getenv))
}

// notes returns the remarks above the groups: problems and changes.
func (d Decision) notes() []string {
	var out []string
	if condition := d.satisfied(); condition.Status != metav1.ConditionTrue && condition.Message != "" {
		out = append(out, condition.Message)
	}
	if d.Result == nil {
		return append(out, "not decided: "+d.SkipReason)
	}
	wrong := meta.FindStatusCondition(d.Placement.Status.Conditions, clusterv1beta1.PlacementConditionMisconfigured)
	if wrong != nil && wrong.Status == metav1.ConditionTrue {
		out = append(out, "misconfigured: "+wrong.Message)
	}
	if !d.hadDecisions {
		return out
	}
	for _, change := range []struct {
		verb     string
		clusters []string
	}{{"added", d.Plan.Added}, {"removed", d.Plan.Removed}, {"regrouped", d.Plan.Regrouped}} {
		if len(change.clusters) > 0 {
			out = append(out, fmt.Sprintf("%s %s: %s", change.verb,
				phrase.Count(len(change.clusters), "cluster"), phrase.Join(change.clusters, phrase.MaxNames)))
		}
	}
	return out
}

// Groups returns the decision groups by index, read off the slices as any consumer would.
func (d Decision) Groups() []resource.Group { return resource.GroupsOf(d.Slices) }

// Clusters returns the names of the selected clusters, by group.
func (d Decision) Clusters() []string {
	var out []string
	for _, group := range d.Groups() {
		out = append(out, group.Clusters...)
	}
	return out
}
