package get

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/resource"
)

// pathColumn is a column of -o custom-columns.
type pathColumn struct {
	title string
	path  *jsonpath.JSONPath
}

// columnsPrinter parses TITLE:PATH,... into a printer of a table.
func columnsPrinter(spec string) (rowsPrinter, error) {
	var columns []pathColumn
	for part := range strings.SplitSeq(spec, ",") {
		title, text, found := strings.Cut(strings.TrimSpace(part), ":")
		if !found || title == "" || text == "" {
			return nil, fmt.Errorf("-o custom-columns: %q is no column: write TITLE:PATH, such as NAME:.metadata.name", part)
		}
		path, err := fieldPath(text)
		if err != nil {
			return nil, fmt.Errorf("-o custom-columns: %w", err)
		}
		columns = append(columns, pathColumn{title, path})
	}
	return func(w io.Writer, o *options, rows []resource.Row) error { return o.writeColumns(w, rows, columns) }, nil
}

func (o *options) writeColumns(w io.Writer, rows []resource.Row, columns []pathColumn) error {
	shown := printer.NewTable(w, "")
	if !o.noHeaders {
		var titles []string
		for _, c := range columns {
			titles = append(titles, c.title)
		}
		shown.Row(titles...)
	}
	for _, row := range rows {
		object, err := row.Object()
		if err != nil {
			return err
		}
		var cells []string
		for _, c := range columns {
			values, err := valuesAt(c.path, object)
			if err != nil {
				return err
			}
			cells = append(cells, valueText(values))
		}
		shown.Row(cells...)
	}
	return shown.Flush()
}

func valueText(values []any) string {
	var out []string
	for _, value := range values {
		if value != nil {
			out = append(out, fmt.Sprint(value))
		}
	}
	return cmp.Or(strings.Join(out, ","), "<none>")
}
