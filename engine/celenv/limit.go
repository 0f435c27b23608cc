package celenv

import (
	"errors"
	"fmt"

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
	// largestPattern is how many instructions the pattern of matches() may come to where it is a constant.
	largestPattern = 10_000
)

var errPattern = errors.New("the pattern of matches() is too large")

// writtenOut refuses a text that has too many operations once its macros are written out. optMap() and optFlatMap() repeat
// what they are called on, so that forty of them in a row are 2^40 operations of 700 bytes.
func (e *Env) writtenOut(text string) error {
	parsed, issues := e.plain.Parse(common.NewTextSource(text))
	if len(issues.GetErrors()) > 0 {
		return nil // the compiler reports them
	}
	if size := nodes(parsed.Expr()); size > mostNodes {
		return fmt.Errorf("the expression is too large: it has more than %d operations once its macros are written out", mostNodes)
	}
	return nil
}

func nodes(of ast.Expr) uint64 {
	total := uint64(1)
	for n, child := range children(of) {
		size := nodes(child)
		if n == 0 && doubles(of) {
			size *= 2
		}
		total = saturated(total + size)
	}
	return total
}

// doubles says whether a macro writes out what it is called on twice.
func doubles(of ast.Expr) bool {
	if of.Kind() != ast.CallKind || !of.AsCall().IsMemberFunction() {
		return false
	}
	name := of.AsCall().FunctionName()
	return name == "optMap" || name == "optFlatMap"
}
