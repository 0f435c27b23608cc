package cli

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/escape"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/verdict"
)

const (
	// maxReason is how long a reason may be, fewest how many clusters a line is to name, or all there are.
	maxReason, minNamed = 240, 3
	// minLineWidth is how many characters a line holds at least.
	minLineWidth = 40
)

// printSummary writes what became of a placement, and the clusters by verdict.
func printSummary(w io.Writer, of *explain.Explanation, on screen) error {
	width := max(minLineWidth, cmp.Or(on.width, defaultWidth))
	printSummaryHeader(w, of, on)
	if err := printVerdictRows(w, "", of.Rows(), on); err != nil {
		return err
	}
	if err := printHiddenCount(w, of); err != nil {
		return err
	}
	if of.Cut != nil && of.Wanted != nil && of.Selected >= *of.Wanted {
		printf(w, "\nThe cut is %s: rank %d, %s.\n", of.Cut.Cluster, of.Cut.Rank, count(int(of.Cut.Total), "point"))
	} else {
		fmt.Fprintln(w)
	}
	for _, line := range wrapped("Add --cluster NAME for the full report on one cluster and what would select it, or -o wide for all scores.", width) {
		fmt.Fprintln(w, line)
	}
	return nil
}

// printSummaryHeader writes whether the placement is satisfied, and its problems.
func printSummaryHeader(w io.Writer, of *explain.Explanation, on screen) {
	width := max(minLineWidth, cmp.Or(on.width, defaultWidth))
	if of.Stale != "" {
		for _, line := range wrapped("Stale: "+of.Stale, width) {
			printf(w, "%s\n", on.paint(styleWarning, line))
		}
	}
	state, tone := "not satisfied", styleBad
	satisfied := of.Satisfied()
	if satisfied.Status == metav1.ConditionTrue {
		state, tone = "satisfied", styleGood
	}
	selected := fmt.Sprintf("%d selected", of.Selected)
	if of.Wanted != nil {
		selected = fmt.Sprintf("%d of %d selected", of.Selected, *of.Wanted)
	}
	printf(w, "%s: %s, %s (%s)\n", of.Key(), on.paint(tone, state), selected, satisfied.Reason)
	printReplayed(w, of)
	for _, trouble := range of.Problems() {
		for _, line := range wrapped(trouble, width-2) {
			printf(w, "  %s\n", line)
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
		fmt.Fprintln(w, "  Decided again just now: the manager no longer holds the run itself.")
	}
}

func printHiddenCount(w io.Writer, of *explain.Explanation) error {
	if of.Hidden == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "and %s that you may not see\n", count(of.Hidden, "cluster"))
	return err
}

// printVerdictRows writes one or two lines for each row: the verdict, the number of clusters, the reason, and as many names
// as fit.
func printVerdictRows(w io.Writer, indent string, rows []explain.Row, on screen) error {
	verdicts, counts := 0, 0
	for _, row := range rows {
		verdicts, counts = max(verdicts, len(row.Verdict)), max(counts, len(strconv.Itoa(len(row.Clusters))))
	}
	blank := strings.Repeat(" ", len(indent)+verdicts+counts+4)
	width := max(minLineWidth, cmp.Or(on.width, defaultWidth)-len(blank))
	for _, row := range rows {
		head := fmt.Sprintf("%s%s%s  %*d  ", indent, on.paint(verdictStyle(row.Verdict), row.Verdict), strings.Repeat(" ", verdicts-len(row.Verdict)), counts, len(row.Clusters))
		for _, line := range rowLines(row, width) {
			if _, err := fmt.Fprintln(w, strings.TrimRight(head+escape.Text(line), " ")); err != nil {
				return err
			}
			head = blank
		}
	}
	return nil
}

// rowLines returns the reason and the clusters of a row: on one line where a few clusters fit beside the reason.
func rowLines(row explain.Row, width int) []string {
	tokens := clusterTexts(row)
	why := truncate(strings.Join(strings.Fields(row.Why), " "), maxReason)
	if why == "" {
		return []string{fitNames(tokens, width)}
	}
	left := width - utf8.RuneCountInString(why) - 2
	if left >= utf8.RuneCountInString(names(tokens, min(len(tokens), minNamed))) {
		return []string{why + ": " + fitNames(tokens, left)}
	}
	lines := wrapped(why+":", width)
	return append(lines, fitNames(tokens, width))
}

// clusterTexts returns the name of each cluster, and for outranked clusters how many points are missing. The winner is named
// once.
func clusterTexts(row explain.Row) []string {
	var out []string
	told := ""
	for _, cluster := range row.Clusters {
		behind := cluster.Shortfall()
		by := ""
		if cluster.Outranked != nil {
			by = cluster.Outranked.By
		}
		switch {
		case behind == "":
			out = append(out, cluster.Name)
		case by != "" && by == told && cluster.Outranked.Points > 0 && !cluster.Penalized:
			out = append(out, fmt.Sprintf("%s (%d)", cluster.Name, cluster.Outranked.Points))
		default:
			out = append(out, fmt.Sprintf("%s (%s)", cluster.Name, behind))
		}
		if by != "" && cluster.Outranked.Points > 0 && !cluster.Penalized {
			told = by
		}
	}
	return out
}

// fitNames lists as many tokens as a line holds, one at least, and how many more there are.
func fitNames(tokens []string, width int) string {
	low, high := 1, len(tokens)
	for low < high {
		middle := (low + high + 1) / 2
		if utf8.RuneCountInString(names(tokens, middle)) <= width {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return names(tokens, low)
}

// wrapped breaks a text between words into lines.
func wrapped(text string, width int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			out, line = append(out, line), word
		}
	}
	return append(out, line)
}

// verdictStyle returns how good a verdict is for a cluster that would be selected.
func verdictStyle(name string) textStyle {
	switch name {
	case verdict.Selected.String(), verdict.Kept.String():
		return styleGood
	case verdict.Held.String(), verdict.Waiting.String(), verdict.Outranked.String(), verdict.ConstraintBlocked.String():
		return styleWarning
	case verdict.Tainted.String(), verdict.Expired.String(), verdict.TooCostly.String():
		return styleBad
	default:
		return styleFaint
	}
}

// paint returns a text in one line, in the colour of a tone where the screen has colours.
func (s screen) paint(t textStyle, text string) painted {
	if !s.colors {
		t = stylePlain
	}
	return t.paint(text)
}
