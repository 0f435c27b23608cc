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
	// maxExpressionLength is how many characters an expression may have.
	maxExpressionLength = 16_384
	// maxExpressionDepth is how deep its parentheses, calls and operators may be nested.
	maxExpressionDepth = 250
	// maxNodes is how many operations an expression may have after macro expansion.
	maxNodes = 50_000
	// MaxCompileCost is the most effort that the expressions of a placement may take to compile together. It is a fifth
	// of a second of one core; BenchmarkCompile verifies that.
	MaxCompileCost = 4_000_000
	// maxPatternSize is how many instructions a constant pattern of matches() may have.
	maxPatternSize = 10_000
)

var errPattern = errors.New("the pattern of matches() is too large")

// maxErrors is how many errors of an expression are reported. Each repeats its line.
const maxErrors = 3

// formatErrors returns the first errors of a text as one error.
func formatErrors(of *cel.Issues, text string) error {
	var out []string
	source := common.NewTextSource(text)
	for n, err := range of.Errors() {
		if n == maxErrors {
			out = append(out, fmt.Sprintf("and %d more errors", len(of.Errors())-n))
			break
		}
		out = append(out, err.ToDisplayString(source))
	}
	return errors.New(strings.Join(out, "\n"))
}

// CompileCost estimates the effort of compiling a text. It is the number of operations after macro expansion, times the
// number of operations with a type of their own: the checker visits all such types at each operation. Measured on plain
// lists, a unit takes some 50 nanoseconds. A text that cannot be parsed costs nothing, because it is not compiled.
func (e *Env) CompileCost(text string) uint64 {
	parsed, issues := e.macroFreeParser.Parse(common.NewTextSource(text))
	if len(issues.GetErrors()) > 0 {
		return 0
	}
	return expressionSizeOf(parsed.Expr()).compileCost()
}

// CompileCostBound returns an upper bound of the compile cost of a text without parsing it. An operation has at least one
// character, unless a macro repeats it.
func CompileCostBound(text string) uint64 {
	if strings.Contains(text, optMap) || strings.Contains(text, optFlatMap) {
		return maxSize
	}
	return saturatedProduct(uint64(len(text)), uint64(len(text)))
}

// checkExpandedSize refuses a text that has too many operations after macro expansion, or takes too long to check.
// optMap() and optFlatMap() repeat their target, so forty of them in a row are 2^40 operations in 700 bytes.
func (e *Env) checkExpandedSize(text string) error {
	if CompileCostBound(text) <= MaxCompileCost {
		return nil
	}
	parsed, issues := e.macroFreeParser.Parse(common.NewTextSource(text))
	if len(issues.GetErrors()) > 0 {
		return nil // the compiler reports them
	}
	size := expressionSizeOf(parsed.Expr())
	if size.nodes > maxNodes {
		return fmt.Errorf("the expression is too large: it has more than %d operations once its macros are written out", maxNodes)
	}
	if effort := size.compileCost(); effort > MaxCompileCost {
		return fmt.Errorf("the expression is too large: its %d operations, %d of them calls, lists and maps, take an effort of %d to "+
			"compile, and %d is allowed",
			size.nodes, size.calls, effort, MaxCompileCost)
	}
	return nil
}

const (
	optMap     = "optMap"
	optFlatMap = "optFlatMap"
	// macroSize is how many operations optMap has, beside its arguments.
	macroSize = 8
)

// expressionSize is how many operations an expression has after macro expansion, and how many of them have a type of
// their own.
type expressionSize struct{ nodes, calls uint64 }

func (s expressionSize) compileCost() uint64 { return saturatedProduct(s.nodes, s.calls) }

func expressionSizeOf(of ast.Expr) expressionSize {
	total := expressionSize{nodes: 1}
	switch of.Kind() {
	case ast.CallKind, ast.ListKind, ast.MapKind:
		total.calls = 1
	default:
	}
	for n, child := range children(of) {
		part := expressionSizeOf(child)
		if n == 0 && duplicatesTarget(of) {
			part = expressionSize{2 * part.nodes, 2 * part.calls}
		}
		total = expressionSize{saturate(total.nodes + part.nodes), saturate(total.calls + part.calls)}
	}
	if duplicatesTarget(of) {
		total = expressionSize{saturate(total.nodes + macroSize), saturate(total.calls + macroSize)}
	}
	return total
}

// duplicatesTarget reports whether a macro expands its target twice.
func duplicatesTarget(of ast.Expr) bool {
	if of.Kind() != ast.CallKind || !of.AsCall().IsMemberFunction() {
		return false
	}
	name := of.AsCall().FunctionName()
	return name == optMap || name == optFlatMap
}
