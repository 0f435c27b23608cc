package celenv

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
)

const (
	// longestExpression is how many characters an expression may have.
	longestExpression = 16_384
	// deepestExpression is how deep its parentheses, calls and operators may be nested.
	deepestExpression = 250
	// mostNodes is how many operations an expression may have once its macros are written out.
	mostNodes = 50_000
	// MostEffort is the most effort that the expressions of a placement may take to compile together: a fifth of a second of
	// one core, which BenchmarkCompile holds it to.
	MostEffort = 4_000_000
	// largestPattern is how many instructions the pattern of matches() may come to where it is a constant.
	largestPattern = 10_000
)

var errPattern = errors.New("the pattern of matches() is too large")

// mostErrors is how many errors of an expression are reported. Each repeats the line that it is in.
const mostErrors = 3

// problems are the errors of a text, as many as are reported.
func problems(of *cel.Issues, text string) error {
	var out []string
	source := common.NewTextSource(text)
	for n, err := range of.Errors() {
		if n == mostErrors {
			out = append(out, fmt.Sprintf("and %d more errors", len(of.Errors())-n))
			break
		}
		out = append(out, err.ToDisplayString(source))
	}
	return errors.New(strings.Join(out, "\n"))
}

// Effort is what a text takes to compile: its operations once macros are written out, times those of them that have a type
// of their own to be found, since the checker goes through all such types at each operation. Measured on plain lists, a
// unit takes some 50 nanoseconds. A text that cannot be parsed takes no effort: it goes no further.
func (e *Env) Effort(text string) uint64 {
	parsed, issues := e.plain.Parse(common.NewTextSource(text))
	if len(issues.GetErrors()) > 0 {
		return 0
	}
	return sizeOf(parsed.Expr()).effort()
}

// MostEffortOf is an effort that a text does not exceed, without reading it: an operation has a character at least, where
// no macro repeats it.
func MostEffortOf(text string) uint64 {
	if strings.Contains(text, optMap) || strings.Contains(text, optFlatMap) {
		return immense
	}
	return product(uint64(len(text)), uint64(len(text)))
}

// writtenOut refuses a text that has too many operations once its macros are written out, or takes too long to check.
// optMap() and optFlatMap() repeat what they are called on, so that forty of them in a row are 2^40 operations of 700 bytes.
func (e *Env) writtenOut(text string) error {
	if MostEffortOf(text) <= MostEffort {
		return nil
	}
	parsed, issues := e.plain.Parse(common.NewTextSource(text))
	if len(issues.GetErrors()) > 0 {
		return nil // the compiler reports them
	}
	size := sizeOf(parsed.Expr())
	if size.nodes > mostNodes {
		return fmt.Errorf("the expression is too large: it has more than %d operations once its macros are written out", mostNodes)
	}
	if effort := size.effort(); effort > MostEffort {
		return fmt.Errorf("the expression is too large: its %d operations, %d of them calls, lists and maps, take an effort of %d to compile, and %d is allowed",
			size.nodes, size.typed, effort, MostEffort)
	}
	return nil
}

const (
	optMap     = "optMap"
	optFlatMap = "optFlatMap"
	// macroSize is how many operations optMap is, beside what it is called with.
	macroSize = 8
)

// size is how many operations an expression has once its macros are written out, and how many of them have a type of their
// own to be found.
type size struct{ nodes, typed uint64 }

func (s size) effort() uint64 { return product(s.nodes, s.typed) }

func sizeOf(of ast.Expr) size {
	total := size{nodes: 1}
	switch of.Kind() {
	case ast.CallKind, ast.ListKind, ast.MapKind:
		total.typed = 1
	default:
	}
	for n, child := range children(of) {
		part := sizeOf(child)
		if n == 0 && doubles(of) {
			part = size{2 * part.nodes, 2 * part.typed}
		}
		total = size{saturated(total.nodes + part.nodes), saturated(total.typed + part.typed)}
	}
	if doubles(of) {
		total = size{saturated(total.nodes + macroSize), saturated(total.typed + macroSize)}
	}
	return total
}

// doubles says whether a macro writes out what it is called on twice.
func doubles(of ast.Expr) bool {
	if of.Kind() != ast.CallKind || !of.AsCall().IsMemberFunction() {
		return false
	}
	name := of.AsCall().FunctionName()
	return name == optMap || name == optFlatMap
}
