package celenv

import (
	"github.com/google/cel-go/interpreter"
)

// errLimit ends an evaluation; the library turns it into an error.
var errLimit = interpreter.EvalCancelledError{Message: "operation cancelled: cost limit exceeded", Cause: interpreter.CostLimitExceeded}

// meter is the root activation of an expression, and counts the cost of its evaluation. The library's own counter adds
// the cost after the work, and searches a stack that grows with every step.
type meter struct {
	cluster clusterValue
	spent   uint64
}

// ResolveName returns the only variable.
func (m *meter) ResolveName(name string) (any, bool) {
	if name != variable {
		return nil, false
	}
	return m.cluster, true
}

// Parent returns nothing: this is the root.
func (*meter) Parent() interpreter.Activation { return nil }

// spend counts a cost before the work is done, and ends the evaluation if the total is over its limit. A program that is
// being compiled spends nothing.
func spend(vars interpreter.Activation, units uint64) {
	for ; vars != nil; vars = vars.Parent() {
		m, ok := vars.(*meter)
		if !ok {
			continue
		}
		if m.spent += units; m.spent > ExpressionCost {
			panic(errLimit)
		}
		return
	}
}
