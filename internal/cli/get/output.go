package get

import (
	"io"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/resource"
)

// outputs are the forms in which `get` writes rows. Those that end in = take an expression, or a file that holds one.
func outputs() []string {
	return []string{
		"table", "wide", "json", "yaml", "name", "jsonpath=", "jsonpath-as-json=", "jsonpath-file=", "go-template=", "go-template-file=",
		"custom-columns=", "custom-columns-file=",
	}
}

func (o *options) write(w io.Writer, rows []resource.Row) error {
	if o.expressionPrinter != nil {
		return o.expressionPrinter(w, o, rows)
	}
	switch o.output {
	case "name":
		for _, row := range rows {
			printer.Printf(w, "%s\n", row.ResourceName(o.resource))
		}
		return nil
	case "json", "yaml":
		return printInfos(w, o.output, o.resource.Plural(), rows)
	default:
		if len(rows) == 0 {
			return nil
		}
		shown := o.table(w)
		o.header(shown)
		o.addRows(shown, rows)
		return shown.Flush()
	}
}

// printInfos writes the data of rows as a list under a title.
func printInfos(w io.Writer, form, title string, rows []resource.Row) error {
	facts := []any{}
	for _, row := range rows {
		facts = append(facts, row.Info)
	}
	return printer.WriteData(w, form, map[string]any{title: facts})
}
