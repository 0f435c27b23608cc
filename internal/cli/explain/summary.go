package explain

import (
	"cmp"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/kube/phrase"
)

// printSummary writes what became of a placement, and the clusters by verdict.
func printSummary(w io.Writer, of *explain.Explanation, on printer.Screen) error {
	width := max(printer.MinLineWidth, cmp.Or(on.Width, printer.DefaultWidth))
	printSummaryHeader(w, of, on)
	if err := printer.WriteVerdictRows(w, "", of.Rows(), on); err != nil {
		return err
	}
	if err := printHiddenCount(w, of); err != nil {
		return err
	}
	if of.Cut != nil && of.Wanted != nil && of.Selected >= *of.Wanted {
		printer.Printf(w, "\nThe cut is %s: rank %d, %s.\n", of.Cut.Cluster, of.Cut.Rank, phrase.Count(int(of.Cut.Total), "point"))
	} else {
		fmt.Fprintln(w)
	}
	for _, line := range printer.Wrap("Add --cluster NAME for the full report on one cluster and what would select it, or -o wide for "+
		"all scores.", width) {
		fmt.Fprintln(w, line)
	}
	return nil
}

// printSummaryHeader writes whether the placement is satisfied, and its problems.
func printSummaryHeader(w io.Writer, of *explain.Explanation, on printer.Screen) {
	width := max(printer.MinLineWidth, cmp.Or(on.Width, printer.DefaultWidth))
	if of.Stale != "" {
		for _, line := range printer.Wrap("Stale: "+of.Stale, width) {
			printer.Printf(w, "%s\n", on.Paint(printer.StyleWarning, line))
		}
	}
	state, tone := "not satisfied", printer.StyleBad
	satisfied := of.Satisfied()
	if satisfied.Status == metav1.ConditionTrue {
		state, tone = "satisfied", printer.StyleGood
	}
	selected := fmt.Sprintf("%d selected", of.Selected)
	if of.Wanted != nil {
		selected = fmt.Sprintf("%d of %d selected", of.Selected, *of.Wanted)
	}
	printer.Printf(w, "%s: %s, %s (%s)\n", of.Key(), on.Paint(tone, state), selected, satisfied.Reason)
	printReplayed(w, of)
	for _, trouble := range of.Problems() {
		for _, line := range printer.Wrap(trouble, width-2) {
			printer.Printf(w, "  %s\n", line)
		}
	}
	if !of.Decided {
		fmt.Fprintln(w, "  Nothing was decided: what was selected before stays.")
	}
	fmt.Fprintln(w)
}

// printReplayed notes that the explanation is of a later run than the stored decision.
func printReplayed(w io.Writer, of *explain.Explanation) {
	if of.Replayed {
		fmt.Fprintln(w, "  Decided again just now: the run itself is not in memory, or had other clusters.")
	}
}

func printHiddenCount(w io.Writer, of *explain.Explanation) error {
	if of.Hidden == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "and %s that you may not see\n", phrase.Count(of.Hidden, "cluster"))
	return err
}
