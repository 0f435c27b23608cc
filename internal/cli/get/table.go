package get

import (
	"io"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/resource"
)

// table returns a table of the screen that the command writes to.
func (o *options) table(w io.Writer) *printer.Table {
	out := printer.NewTable(w, "")
	out.Screen = printer.ScreenOf(o.source.Streams.Out, os.Getenv)
	at := len(o.nameColumns())
	var optional, wide []int // the last go first
	for _, c := range o.resource.Columns {
		if c.Wide && o.output != "wide" {
			continue
		}
		if c.Flexible {
			out.Flexible = append(out.Flexible, at)
		}
		switch {
		case c.Wide:
			wide = append([]int{at}, wide...)
		case c.Optional:
			optional = append([]int{at}, optional...)
		}
		at++
	}
	if o.output == "wide" {
		out.DropLast = slices.Concat(optional, wide)
	} else {
		out.Optional = optional
	}
	if o.showLabels {
		out.Flexible = append(out.Flexible, at)
	}
	return out
}

// nameColumns returns the titles of the columns that name a thing.
func (o *options) nameColumns() []string {
	var out []string
	if o.resource.Object.Namespaced && o.namespace == "" {
		out = append(out, "NAMESPACE")
	}
	if o.resource.Singular() == "group" {
		return append(out, "PLACEMENT")
	}
	return append(out, "NAME")
}

func (o *options) header(to *printer.Table) {
	if o.noHeaders {
		return
	}
	titles := o.nameColumns()
	for _, c := range o.resource.Columns {
		if !c.Wide || o.output == "wide" {
			titles = append(titles, c.Title)
		}
	}
	if o.showLabels {
		titles = append(titles, "LABELS")
	}
	to.Row(titles...)
}

func (o *options) addRows(to *printer.Table, rows []resource.Row) {
	for _, row := range rows {
		cells := printer.PlainCells(row.Name)
		if len(o.nameColumns()) > 1 {
			cells = printer.PlainCells(row.Namespace, row.Name)
		}
		for i, c := range o.resource.Columns {
			if !c.Wide || o.output == "wide" {
				cells = append(cells, row.Cells[i])
			}
		}
		if o.showLabels {
			cells = append(cells, labelsCell(row.Labels))
		}
		to.Add(cells)
	}
}

// labelsCell shows labels as kubectl does.
func labelsCell(in map[string]string) printer.Cell {
	if len(in) == 0 {
		return printer.Cell{Text: printer.Dash}
	}
	return printer.Cell{Text: labels.FormatLabels(in)}
}
