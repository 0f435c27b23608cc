package file

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-project/berth/internal/kube/yamlline"
)

// Field is a field of a kind, as its definition describes it.
type Field struct {
	Name string
	// Type is object, array, string, integer, number or boolean.
	Type        string
	Description string
	Required    bool
}

// Kinds returns every kind with its versions, sorted.
func (r *Rules) Kinds() []schema.GroupVersionKind {
	return slices.SortedFunc(maps.Keys(r.known), func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.GroupVersion().String(), b.GroupVersion().String()))
	})
}

// Fields returns the fields of the object at a path such as spec.predicates[0], sorted by name; none for an unknown kind or path.
func (r *Rules) Fields(of schema.GroupVersionKind, path string) []Field {
	found := r.known[of]
	if found == nil {
		return nil
	}
	at := found.at(path)
	if at == nil {
		return nil
	}
	var required []string
	if at.ValueValidation != nil {
		required = at.ValueValidation.Required
	}
	out := make([]Field, 0, len(at.Properties))
	for _, name := range slices.Sorted(maps.Keys(at.Properties)) {
		each := at.Properties[name]
		out = append(out, Field{Name: name, Type: each.Type, Description: each.Description, Required: slices.Contains(required, name)})
	}
	return out
}

// Values returns the values that the schema allows at a path, in its order; none if it allows any.
func (r *Rules) Values(of schema.GroupVersionKind, path string) []string {
	found := r.known[of]
	if found == nil {
		return nil
	}
	at := found.at(path)
	switch {
	case at == nil:
		return nil
	case at.Type == "boolean":
		return []string{"true", "false"}
	case at.ValueValidation == nil:
		return nil
	}
	var out []string
	for _, each := range at.ValueValidation.Enum {
		var text string
		if data, err := json.Marshal(each.Object); err == nil && json.Unmarshal(data, &text) == nil && text != "" {
			out = append(out, text)
		}
	}
	return out
}

// parsedLine finds the line in a message of a parser.
var parsedLine = regexp.MustCompile(`\bline (\d+)`)

// Line returns the line of a fault in the file that has it, from 1: that of the field, or of the nearest text around it.
func (f Fault) Line(data []byte) int {
	path := ""
	if wrong, ok := errors.AsType[*field.Error](f.Err); ok && !isWholeObject(wrong) {
		path = wrong.Field
	}
	if unknown, ok := errors.AsType[unknownFieldError](f.Err); ok {
		path = unknown.path
	}
	if named := parsedLine.FindStringSubmatch(f.Err.Error()); path == "" && named != nil {
		if line, err := strconv.Atoi(named[1]); err == nil && line > 0 {
			return line
		}
	}
	from := max(f.Position.Line, 1)
	for _, item := range slices.Backward(f.Position.Items) {
		path = fmt.Sprintf("items[%d].%s", item, path)
	}
	text := data
	for range from - 1 {
		_, after, found := bytes.Cut(text, []byte("\n"))
		if !found {
			return from
		}
		text = after
	}
	var root yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&root); err != nil {
		return from
	}
	return from - 1 + max(yamlline.Index{Root: &root}.LineOf(path), 1)
}

// Text returns the fault without its file: the object, the field and the fault.
func (f Fault) Text() string {
	if f.Object == "" {
		return describe(f.Err)
	}
	return f.Object + ": " + describe(f.Err)
}
