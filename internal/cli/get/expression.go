package get

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/berth-project/berth/internal/cli/resource"
)

// rowsPrinter writes rows by an expression of the user.
type rowsPrinter func(w io.Writer, o *options, rows []resource.Row) error

var errUnknownOutput = errors.New("use table, wide, json, yaml, name, jsonpath=PATH, go-template=TEMPLATE or custom-columns=TITLE:PATH")

// completeOutput reads the form of the output; the printer is nil for the forms without an expression.
func completeOutput(output string) (rowsPrinter, error) {
	form, expression, given := strings.Cut(output, "=")
	switch {
	case !given && slices.Contains(outputs(), output):
		return nil, nil //nolint:nilnil // a form without an expression needs no printer
	case !slices.Contains(outputs(), form+"="):
		return nil, fmt.Errorf("unknown output %q: %w", output, errUnknownOutput)
	case expression == "":
		return nil, fmt.Errorf("-o %s needs an expression after the =, such as -o %s", form, exampleOf(form))
	}
	if form, ofFile := strings.CutSuffix(form, "-file"); ofFile {
		data, err := os.ReadFile(expression)
		if err != nil {
			return nil, fmt.Errorf("-o %s-file: %w", form, err)
		}
		return expressionPrinter(form, strings.TrimRight(string(data), "\n"))
	}
	return expressionPrinter(form, expression)
}

func exampleOf(form string) string {
	switch strings.TrimSuffix(form, "-file") {
	case "custom-columns":
		return "custom-columns=NAME:.metadata.name,SELECTED:.selected"
	case "go-template":
		return "go-template='{{range .items}}{{.metadata.name}} {{end}}'"
	default:
		return "jsonpath='{.items[*].metadata.name}'"
	}
}

// expressionPrinter parses an expression. Keys that an object lacks are empty, as with kubectl. The printers are cli-runtime's;
// genericclioptions, which would choose among them, links kustomize. The templates make the linker keep every exported method.
func expressionPrinter(form, expression string) (rowsPrinter, error) {
	var printer printers.ResourcePrinter
	switch form {
	case "custom-columns":
		return columnsPrinter(expression)
	case "go-template":
		template, err := printers.NewGoTemplatePrinter([]byte(expression))
		if err != nil {
			return nil, fmt.Errorf("-o %s: %w", form, err)
		}
		template.AllowMissingKeys(true)
		printer = template
	default:
		path, err := printers.NewJSONPathPrinter(expression)
		if err != nil {
			return nil, fmt.Errorf("-o %s: %w", form, err)
		}
		path.AllowMissingKeys(true)
		path.EnableJSONOutput(form == "jsonpath-as-json")
		printer = path
	}
	return func(w io.Writer, o *options, rows []resource.Row) error {
		document, err := o.document(rows)
		if err != nil {
			return err
		}
		if err := printer.PrintObj(&unstructured.Unstructured{Object: document}, w); err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			return errors.New(first) // what follows is the whole document
		}
		return nil
	}, nil
}

// document returns what expressions are evaluated on: the rows as kubectl would have them, under items, and under the name of their
// kind as -o json has them. Where one thing is named, its fields are those of the document too.
func (o *options) document(rows []resource.Row) (map[string]any, error) {
	items := make([]any, 0, len(rows))
	out := map[string]any{}
	for _, row := range rows {
		item, err := row.Object()
		if err != nil {
			return nil, err
		}
		if items = append(items, item); o.name != "" && len(rows) == 1 {
			out = item
		}
	}
	if len(out) > 0 { // a list that holds itself has no end
		return out, nil
	}
	return map[string]any{"items": items, o.resource.Plural(): items}, nil
}
