package file

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-project/berth/engine/suggest"
)

// Validation is how unknown fields, and unknown kinds in the API groups of Berth, are handled.
type Validation string

const (
	// Strict refuses the input. It is the default.
	Strict Validation = "strict"
	// Warn drops them with a warning, as an API server would.
	Warn Validation = "warn"
	// Ignore drops them silently.
	Ignore Validation = "ignore"
)

// Validations returns the values of Validation.
func Validations() []string { return []string{string(Strict), string(Warn), string(Ignore)} }

// Check returns an error for an unknown value.
func (v Validation) Check() error {
	if !slices.Contains(Validations(), string(v)) {
		return fmt.Errorf("unknown validation %q: use %s", string(v), strings.Join(Validations(), ", "))
	}
	return nil
}

// unknownFields handles the unknown fields of an object.
func (l *load) unknownFields(o object, of *definition, paths []string) {
	if len(paths) == 0 {
		return
	}
	switch l.validation {
	case Ignore:
	case Warn:
		l.warn(o, "dropped what a server would drop: "+strings.Join(paths, ", "))
	default:
		for _, path := range paths {
			parent, name := splitPath(path)
			l.fail(o.fault(unknownFieldError{path, suggest.DidYouMean(name, of.fields(parent))}))
		}
	}
}

// unknownFieldError reports a field that its kind does not have.
type unknownFieldError struct{ path, suggestion string }

// Error returns the path of the field, and what is probably meant.
func (e unknownFieldError) Error() string {
	return fmt.Sprintf("unknown field %q%s", e.path, e.suggestion)
}

// unknownKind handles an object of an unknown kind. In an API group of Berth it is probably misspelt.
func (l *load) unknownKind(o object, gvk schema.GroupVersionKind) {
	kinds := l.known.kindsOf(gvk.Group)
	if len(kinds) == 0 || l.validation == Ignore {
		l.bundle.Skipped[kindTitle(gvk)]++
		return
	}
	if l.validation == Warn {
		l.bundle.Skipped[kindTitle(gvk)]++
		l.warn(o, fmt.Sprintf("skipped: %s has no kind %s%s", gvk.Group, gvk.Kind, suggest.DidYouMean(gvk.Kind, kinds)))
		return
	}
	fault := o.fault(field.NotSupported(field.NewPath("kind"), gvk.Kind, kinds))
	if question := suggest.DidYouMean(gvk.Kind, kinds); question != "" {
		fault = o.fault(fmt.Errorf("unknown kind %q of %s%s", gvk.Kind, gvk.Group, question))
	}
	l.fail(fault)
}

func (l *load) warn(o object, text string) {
	l.bundle.Warnings = append(l.bundle.Warnings, fmt.Sprintf("%s: %s: %s", o.position, o.title(), text))
}

// kindsOf returns the kinds of a group, sorted; none for a group of another project.
func (d definitions) kindsOf(group string) []string {
	var out []string
	for gvk := range d {
		if gvk.Group == group {
			out = append(out, gvk.Kind)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fields returns the names of the fields of the object at a path such as spec.predicates[0].
func (d *definition) fields(path string) []string {
	at := d.at(path)
	if at == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(at.Properties))
}

// at returns the schema of the value at a path such as spec.predicates[0]; nil for an unknown path.
func (d *definition) at(path string) *structural.Structural {
	at := d.structural
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' }) {
		switch {
		case strings.HasSuffix(part, "]"):
			at = at.Items
		case at.AdditionalProperties != nil:
			at = at.AdditionalProperties.Structural
		default:
			next := at.Properties[part]
			at = &next
		}
		if at == nil {
			return nil
		}
	}
	return at
}

// splitPath returns the path of the parent object of a field, and the name of the field.
func splitPath(path string) (parent, name string) {
	at := strings.LastIndexByte(path, '.')
	if at < 0 {
		return "", path
	}
	return path[:at], path[at+1:]
}
