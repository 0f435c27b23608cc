package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/verdict"
)

const (
	// maxMembers and maxExamples are how many clusters are named: of a group, and of a change.
	maxMembers  = 20
	maxExamples = 5

	dash = "-"
)

// printTable writes a summary of all placements, then for each its groups and the verdicts on those not selected.
func printTable(w io.Writer, decided []decision) error {
	if len(decided) == 0 {
		return nil
	}
	table := newTable(w, "")
	table.row("PLACEMENT", "SATISFIED", "REASON", "SELECTED", "WANTED", "GROUPS")
	for _, d := range decided {
		condition := d.satisfied()
		table.row(d.key.String(), string(condition.Status), cmp.Or(condition.Reason, dash),
			strconv.Itoa(len(d.clusters())), d.wanted(), strconv.Itoa(len(d.groups())))
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

func (d decision) satisfied() metav1.Condition {
	found := meta.FindStatusCondition(d.placement.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied)
	if found == nil {
		return metav1.Condition{Status: metav1.ConditionUnknown}
	}
	return *found
}

func (d decision) wanted() string {
	if wanted := d.placement.Spec.NumberOfClusters; wanted != nil {
		return strconv.Itoa(int(*wanted))
	}
	return "all"
}

// print writes the section of one placement.
func (d decision) print(w io.Writer) error {
	printf(w, "\n%s\n", d.key)
	for _, line := range d.notes() {
		printf(w, "  %s\n", line)
	}
	if err := printGroups(w, d.groups()); err != nil || d.result == nil {
		return err
	}
	return d.printVerdicts(w)
}

func printGroups(w io.Writer, groups []shownGroup) error {
	if len(groups) == 0 {
		return nil
	}
	table := newTable(w, "  ")
	table.row("GROUP", "NAME", "COUNT", "CLUSTERS")
	for _, group := range groups {
		table.row(cmp.Or(group.index, dash), cmp.Or(group.name, dash),
			strconv.Itoa(len(group.clusters)), cmp.Or(names(group.clusters, maxMembers), dash))
	}
	return table.Flush()
}

// printVerdicts writes why clusters are not selected, or merely held. The others are in the groups.
func (d decision) printVerdicts(w io.Writer) error {
	of := explain.Of(d.result, d.placement, nil)
	rows := slices.DeleteFunc(of.Rows(), func(row explain.Row) bool {
		return row.Verdict == verdict.Selected.String() || row.Verdict == verdict.Kept.String()
	})
	return printVerdictRows(w, "  ", rows, screenOf(w, os.Getenv))
}

// notes returns the remarks above the groups: problems and changes.
func (d decision) notes() []string {
	var out []string
	if condition := d.satisfied(); condition.Status != metav1.ConditionTrue && condition.Message != "" {
		out = append(out, condition.Message)
	}
	if d.result == nil {
		return append(out, "not decided: "+d.skipReason)
	}
	wrong := meta.FindStatusCondition(d.placement.Status.Conditions, clusterv1beta1.PlacementConditionMisconfigured)
	if wrong != nil && wrong.Status == metav1.ConditionTrue {
		out = append(out, "misconfigured: "+wrong.Message)
	}
	if !d.hadDecisions {
		return out
	}
	for _, change := range []struct {
		verb     string
		clusters []string
	}{{"added", d.plan.Added}, {"removed", d.plan.Removed}, {"regrouped", d.plan.Regrouped}} {
		if len(change.clusters) > 0 {
			out = append(out, fmt.Sprintf("%s %s: %s", change.verb,
				count(len(change.clusters), "cluster"), names(change.clusters, maxExamples)))
		}
	}
	return out
}

// shownGroup is a decision group, read from the stored slices.
type shownGroup struct {
	index, name      string
	clusters, slices []string
}

// groups returns the decision groups by index, read off the slices as any consumer would.
func (d decision) groups() []shownGroup { return groupsOf(d.slices) }

// groupsOf returns the decision groups that the slices of a placement make, by index.
func groupsOf(stored []*clusterv1beta1.PlacementDecision) []shownGroup {
	var out []shownGroup
	at := map[[2]string]int{}
	for _, slice := range stored {
		index, name := slice.Labels[clusterv1beta1.DecisionGroupIndexLabel], slice.Labels[clusterv1beta1.DecisionGroupNameLabel]
		key := [2]string{index, name}
		if _, known := at[key]; !known {
			at[key] = len(out)
			out = append(out, shownGroup{index: index, name: name})
		}
		group := &out[at[key]]
		group.clusters = append(group.clusters, plan.Clusters(slice)...)
		group.slices = append(group.slices, slice.Name)
	}
	slices.SortStableFunc(out, func(a, b shownGroup) int {
		return cmp.Or(cmp.Compare(len(a.index), len(b.index)), cmp.Compare(a.index, b.index))
	})
	return out
}

func (d decision) clusters() []string {
	var out []string
	for _, group := range d.groups() {
		out = append(out, group.clusters...)
	}
	return out
}

// names lists the first of some names, and how many more there are.
func names(in []string, most int) string {
	if len(in) <= most {
		return strings.Join(in, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(in[:most], ", "), len(in)-most)
}
