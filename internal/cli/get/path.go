package get

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/util/jsonpath"

	"github.com/berth-project/berth/internal/cli/printer"
	"github.com/berth-project/berth/internal/cli/resource"
)

// barePath is a path to a field as kubectl takes it: {.metadata.name}, .metadata.name or metadata.name.
var barePath = regexp.MustCompile(`^(?:\{\.?([^{}]+)\}|\.?([^{}]+))$`)

// fieldPath parses a path to a field.
func fieldPath(text string) (*jsonpath.JSONPath, error) {
	found := barePath.FindStringSubmatch(text)
	if found == nil {
		return nil, fmt.Errorf("%q is no path to a field, such as .metadata.name", text)
	}
	out := jsonpath.New("field").AllowMissingKeys(true)
	path := cmp.Or(found[1], found[2])
	if !strings.HasPrefix(path, "[") {
		path = "." + path
	}
	if err := out.Parse("{" + path + "}"); err != nil {
		return nil, fmt.Errorf("%q is no path to a field: %w", text, err)
	}
	return out, nil
}

// valuesAt returns what an object has at a path.
func valuesAt(path *jsonpath.JSONPath, object map[string]any) ([]any, error) {
	found, err := path.FindResults(object)
	if err != nil {
		return nil, fmt.Errorf("evaluating a path: %w", err)
	}
	var out []any
	for _, results := range found {
		for _, value := range results {
			out = append(out, value.Interface())
		}
	}
	return out, nil
}

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
	return func(w io.Writer, g *options, rows []resource.Row) error { return g.writeColumns(w, rows, columns) }, nil
}

func (g *options) writeColumns(w io.Writer, rows []resource.Row, columns []pathColumn) error {
	shown := printer.NewTable(w, "")
	if !g.noHeaders {
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

// sortBy orders rows by a field, those without it first.
func sortBy(rows []resource.Row, text string) error {
	path, err := fieldPath(text)
	if err != nil {
		return fmt.Errorf("--sort-by %w", err)
	}
	keys := make(map[string]any, len(rows))
	known := len(rows) == 0
	for _, row := range rows {
		object, err := row.Object()
		if err != nil {
			return err
		}
		values, err := valuesAt(path, object)
		if err != nil {
			return err
		}
		if len(values) > 0 {
			keys[row.Key()], known = values[0], true
		}
	}
	if !known {
		return errors.New("--sort-by " + text + ": nothing that is shown has such a field; -o json shows those there are")
	}
	slices.SortStableFunc(rows, func(a, b resource.Row) int { return compareValues(keys[a.Key()], keys[b.Key()]) })
	return nil
}

// compareValues orders values of JSON: numbers and quantities by size, other texts by letters, and what is absent first.
func compareValues(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(presence(a), presence(b))
	}
	first, isNumber := a.(float64)
	second, isNumberToo := b.(float64)
	if isNumber && isNumberToo {
		return cmp.Compare(first, second)
	}
	x, y := fmt.Sprint(a), fmt.Sprint(b)
	amount, err := apiresource.ParseQuantity(x)
	other, otherErr := apiresource.ParseQuantity(y)
	if err == nil && otherErr == nil {
		return amount.Cmp(other)
	}
	return cmp.Compare(x, y)
}

func presence(value any) int {
	if value == nil {
		return 0
	}
	return 1
}
