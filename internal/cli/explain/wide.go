package explain

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/internal/cli/printer"
)

// printWide writes a table of every cluster, those first that are nearest to being selected. The names of prioritizers are
// short there.
func printWide(w io.Writer, of *explain.Explanation, on printer.Screen) error {
	table := printer.NewTable(w, "")
	table.Screen = on
	head := []string{"CLUSTER", "VERDICT", "RANK", "TOTAL"}
	for _, by := range of.Prioritizers {
		head = append(head, strings.ToUpper(strings.TrimPrefix(strings.TrimPrefix(by.Name, "ResourceAllocatable"), "AddOn/")))
	}
	table.Flexible = []int{len(head)}
	table.Row(append(head, "WHY")...)
	for _, row := range of.Rows() {
		for _, cluster := range row.Clusters {
			table.Add(wideRow(cluster, len(of.Prioritizers)))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printHiddenCount(w, of)
}

func wideRow(c *explain.Cluster, prioritizers int) []printer.Cell {
	out := []printer.Cell{{Text: c.Name}, printer.StyledCell(c.Verdict, printer.VerdictStyle(c.Verdict))}
	if c.Rank == 0 {
		out = append(out, printer.Cell{Text: printer.Dash}, printer.Cell{Text: printer.Dash})
	} else {
		out = append(out, printer.Cell{Text: fmt.Sprint(c.Rank)}, printer.Cell{Text: fmt.Sprint(c.Total)})
	}
	for i := range prioritizers {
		text := printer.Dash
		if i < len(c.Scores) {
			text = fmt.Sprintf("%d x %d", c.Scores[i].Value, c.Scores[i].Weight)
		}
		out = append(out, printer.Cell{Text: text})
	}
	why := cmp.Or(c.Shortfall(), c.Why)
	if c.Selected && c.Group != nil && *c.Group != (explain.Group{}) {
		why = cmp.Or(why, c.Group.String())
	}
	return append(out, printer.Cell{Text: cmp.Or(why, printer.Dash)})
}
