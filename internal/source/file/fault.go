package file

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Position is where in the input something stands.
type Position struct {
	// File is the name as given, or found in a folder; "standard input" for "-".
	File string
	// Document counts from 1 over the documents of the file that say anything; 0 stands for the file as a whole.
	Document int
	// Line is the line in the file on which the document starts, from 1; without a Document, that of which something is
	// said, or 0 for none.
	Line int
	// Items is the index in each List, from the outermost, from 0 as in a field path; empty outside a List.
	Items []int
}

// String returns the place as a reader would look it up, such as "a.yaml, document 2 (line 14), items[3]" or
// "a.yaml, line 14".
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

// Fault is one reason why the input cannot be used.
type Fault struct {
	Position Position
	// Object is the kind, namespace and name, as far as they are known; empty where the fault is in no object.
	Object string
	Err    error
}

// String returns the place, the object and what is wrong with which field of it.
func (f Fault) String() string {
	parts := []string{f.Position.String()}
	if f.Object != "" {
		parts = append(parts, f.Object)
	}
	return strings.Join(append(parts, describe(f.Err)), ": ")
}

// describe renders an error. One about a whole object has no field to name.
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
