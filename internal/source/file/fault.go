package file

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Position is where in the input something is.
type Position struct {
	// File is the name as given, or as found in a folder; "standard input" for "-".
	File string
	// Document counts from 1 over the documents of the file that have content; 0 is the file as a whole.
	Document int
	// Line is the line on which the document starts, from 1; without a Document it is the line of the fault, or 0.
	Line int
	// Items is the index in each List, from the outermost, starting at 0 as in a field path; empty outside a List.
	Items []int
}

// String returns the position as text, such as "a.yaml, document 2 (line 14), items[3]" or "a.yaml, line 14".
func (p Position) String() string {
	var out strings.Builder
	out.WriteString(p.File)
	switch {
	case p.Document > 0:
		fmt.Fprintf(&out, ", document %d (line %d)", p.Document, p.Line)
	case p.Line > 0:
		fmt.Fprintf(&out, ", line %d", p.Line)
	}
	for i, item := range p.Items {
		if i == 0 {
			out.WriteString(", ")
		} else {
			out.WriteByte('.')
		}
		fmt.Fprintf(&out, "items[%d]", item)
	}
	return out.String()
}

// Fault is a reason why the input cannot be used.
type Fault struct {
	Position Position
	// Object is the kind, namespace and name, as far as known; empty outside an object.
	Object string
	Err    error
}

// String returns the position, the object, the field and the fault.
func (f Fault) String() string {
	parts := []string{f.Position.String()}
	if f.Object != "" {
		parts = append(parts, f.Object)
	}
	return strings.Join(append(parts, describe(f.Err)), ": ")
}

// describe returns the text of an error, without a field for an error about a whole object.
func describe(err error) string {
	if fault, ok := errors.AsType[*field.Error](err); ok && isWholeObject(fault) {
		return fault.Detail
	}
	return err.Error()
}

func isWholeObject(fault *field.Error) bool { return fault.Field == "" || fault.Field == "<nil>" }

// FaultsError is every fault of an input, in the order of the input.
type FaultsError []Fault

// Error lists the faults, one a line.
func (f FaultsError) Error() string {
	lines := make([]string, 0, len(f))
	for _, fault := range f {
		lines = append(lines, fault.String())
	}
	return strings.Join(lines, "\n")
}
