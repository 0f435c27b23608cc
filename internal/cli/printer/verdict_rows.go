package printer

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/berth-project/berth/engine/escape"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/verdict"
	"github.com/berth-project/berth/internal/kube/phrase"
)

const (
	// MaxReason is how long a reason may be, fewest how many clusters a line is to name, or all there are.
	MaxReason, minNamed = 240, 3
	// MinLineWidth is how many characters a line holds at least.
	MinLineWidth = 40
)

// WriteVerdictRows writes one or two lines for each row: the verdict, the number of clusters, the reason, and as many names
// as fit.
func WriteVerdictRows(w io.Writer, indent string, rows []explain.Row, on Screen) error {
	verdicts, counts := 0, 0
	for _, row := range rows {
		verdicts, counts = max(verdicts, len(row.Verdict)), max(counts, len(strconv.Itoa(len(row.Clusters))))
	}
	blank := strings.Repeat(" ", len(indent)+verdicts+counts+4)
	width := max(MinLineWidth, cmp.Or(on.Width, DefaultWidth)-len(blank))
	for _, row := range rows {
		head := fmt.Sprintf("%s%s%s  %*d  ", indent, on.Paint(VerdictStyle(row.Verdict), row.Verdict),
			strings.Repeat(" ", verdicts-len(row.Verdict)), counts, len(row.Clusters))
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
	why := Truncate(strings.Join(strings.Fields(row.Why), " "), MaxReason)
	if why == "" {
		return []string{FitNames(tokens, width)}
	}
	left := width - utf8.RuneCountInString(why) - 2
	if left >= utf8.RuneCountInString(phrase.Join(tokens, min(len(tokens), minNamed))) {
		return []string{why + ": " + FitNames(tokens, left)}
	}
	lines := Wrap(why+":", width)
	return append(lines, FitNames(tokens, width))
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

// FitNames lists as many tokens as a line holds, one at least, and how many more there are.
func FitNames(tokens []string, width int) string {
	low, high := 1, len(tokens)
	for low < high {
		middle := (low + high + 1) / 2
		if utf8.RuneCountInString(phrase.Join(tokens, middle)) <= width {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return phrase.Join(tokens, low)
}

// Wrap breaks a text between words into lines.
func Wrap(text string, width int) []string {
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

// VerdictStyle returns how good a verdict is for a cluster that would be selected.
func VerdictStyle(name string) TextStyle {
	switch name {
	case verdict.Selected.String(), verdict.Kept.String():
		return StyleGood
	case verdict.Held.String(), verdict.Waiting.String(), verdict.Outranked.String(), verdict.ConstraintBlocked.String():
		return StyleWarning
	case verdict.Tainted.String(), verdict.Expired.String(), verdict.TooCostly.String():
		return StyleBad
	default:
		return StyleFaint
	}
}
