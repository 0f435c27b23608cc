// Package report prints the figures as one table, in Markdown that is readable in a terminal.
package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/bound"
)

// WriteTable writes a row per figure.
func WriteTable(out io.Writer, verdicts []bound.Result) error {
	rows := [][]string{{"run", "figure", "measured", "from", "bound", "mean ± spread in runs", ""}}
	for _, v := range verdicts {
		rows = append(rows, row(v))
	}
	width := slices.Repeat([]int{3}, len(rows[0])) // a rule needs three dashes
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for i, row := range rows {
		line(&text, row, width)
		if i == 0 {
			line(&text, rule(width), width)
		}
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	return nil
}

func row(v bound.Result) []string {
	measured, limit, evidence := v.Figure.String(), "", ""
	if math.IsNaN(v.Figure.Value) {
		measured = "-"
	}
	if b := v.Bound; b != nil {
		limit = "at most "
		value := b.Max
		if value == nil {
			limit, value = "at least ", b.Min
		}
		if math.IsNaN(v.Figure.Value) { // without a unit
			limit += fmt.Sprintf("%.3g", *value)
		} else {
			limit += bench.Format(*value, v.Figure.Unit)
		}
		evidence = fmt.Sprintf("%.3g ± %.2g in %d", b.Mean, b.Spread, b.Runs)
	}
	verdict := ""
	switch {
	case v.Violation != "":
		verdict = "BROKEN: " + v.Violation
	case v.Bound != nil:
		verdict = "ok"
	}
	return []string{v.Run, v.Figure.Name, measured, v.Figure.Detail, limit, evidence, verdict}
}

func line(out *strings.Builder, row []string, width []int) {
	for i, cell := range row {
		out.WriteString("| " + cell + strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+1))
	}
	out.WriteString("|\n")
}

func rule(width []int) []string {
	out := make([]string, len(width))
	for i := range out {
		out[i] = strings.Repeat("-", width[i])
	}
	return out
}
