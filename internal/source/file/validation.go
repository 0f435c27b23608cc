package file

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-project/berth/internal/suggest"
)

// Validation says what becomes of what Berth's API does not have: unknown fields, and unknown kinds of its groups.
type Validation string

const (
	// Strict refuses the input. It is the default.
	Strict Validation = "strict"
	// Warn drops it, as an API server would, with a warning.
	Warn Validation = "warn"
	// Ignore drops it without a word.
	Ignore Validation = "ignore"
)

// Validations lists the values of Validation.
func Validations() []string { return []string{string(Strict), string(Warn), string(Ignore)} }

// Check returns an error for a value that Validation does not have.
func (v Validation) Check() error {
	if !slices.Contains(Validations(), string(v)) {
		return fmt.Errorf("unknown validation %q: use %s", string(v), strings.Join(Validations(), ", "))
	}
	return nil
}

// unknownFields takes in what of an object no field of its kind holds.
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
			l.fail(o.fault(fmt.Errorf("unknown field %q%s", path, suggest.DidYouMean(name, of.fields(parent)))))
		}
	}
}

// unknownKind takes in an object of a kind that no definition has. In a group of Berth that is most likely a misspelt one.
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

// kindsOf returns the kinds that a group has, sorted; none for a group of another project.
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

// fields returns the names of the fields of the object at a path, such as spec.predicates[0]; none where there are none.
func (d *definition) fields(path string) []string {
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
	return slices.Sorted(maps.Keys(at.Properties))
}

// splitPath returns the path of the object that a field is in, and the name of the field.
func splitPath(path string) (parent, name string) {
	at := strings.LastIndexByte(path, '.')
	if at < 0 {
		return "", path
	}
	return path[:at], path[at+1:]
}
