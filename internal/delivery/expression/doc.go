// Package expression compiles and evaluates what the author of a work writes as text: CEL rules, JSONPath, JSON pointers and jq.
//
// Admission compiles with it and agents evaluate with it, so that an agent accepts every expression that admission accepts.
// Each text and each evaluation is bounded, and no expression reads anything but the object that it is given.
package expression

import "fmt"

// MaxLength is how many bytes an expression may have.
const MaxLength = 2048

// checkLength returns an error for a text that is empty or too long.
func checkLength(text string) error {
	switch {
	case text == "":
		return errEmpty
	case len(text) > MaxLength:
		return fmt.Errorf("the expression has %d bytes, at most %d are allowed", len(text), MaxLength)
	default:
		return nil
	}
}
