package get //nolint:testpackage // what is tested is what comes between reading and printing

import (
	"strings"
	"testing"

	"github.com/berth-project/berth/internal/cli/resource"
)

// FuzzPaths evaluates anything as a JSONPath, as columns and as an order: it is refused or evaluated, and never panics.
func FuzzPaths(f *testing.F) {
	for _, seed := range []string{
		".metadata.name", "{.items[*].metadata.name}", "{.items[?(@.selected>1)].name}", "NAME:.metadata.name,N:{.held[0]}", "{..name}",
		"{.items[-1:]}", "{range .items[*]}{.name}{end}", "[0]", "{['a.b']}", "A:", "{", "metadata.labels['a/b']", `{.items[?(@.name=~"a")]}`,
	} {
		f.Add(seed)
	}
	rows := []resource.Row{
		{Name: "a", Labels: map[string]string{"a/b": "c"}, Info: map[string]any{"name": "a", "selected": 2, "held": []string{"x"}}},
		{Name: "b", Info: map[string]any{"name": "b", "memory": "64Gi", "nested": map[string]any{"list": []any{nil, true, 1.5}}}},
	}
	f.Fuzz(func(_ *testing.T, text string) {
		for _, form := range []string{"jsonpath", "jsonpath-as-json", "custom-columns"} {
			g := &options{resource: resource.PlacementPrinter()}
			var err error
			if g.expressionPrinter, err = expressionPrinter(form, text); err == nil {
				_ = g.write(&strings.Builder{}, rows) // an error is as good as a result
			}
		}
		_ = sortBy(rows, text)
	})
}
