package get

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/client-go/util/jsonpath"
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
