package celenv

import (
	"github.com/google/cel-go/interpreter"
)

// errLimit ends an evaluation; the library turns it into an error.
var errLimit = interpreter.EvalCancelledError{Message: "operation cancelled: cost limit exceeded", Cause: interpreter.CostLimitExceeded}

// meter is the root of what an expression sees, and counts what its evaluation costs. The library's own counter adds up
// what was done already, and looks through a stack that grows with every step.
type meter struct {
	cluster clusterValue
	spent   uint64
}

// ResolveName returns the one variable that there is.
func (m *meter) ResolveName(name string) (any, bool) {
	if name != variable {
		return nil, false
	}
	return m.cluster, true
}

// Parent returns nothing: this is the root.
func (*meter) Parent() interpreter.Activation { return nil }

// spend counts what is about to be done, and ends the evaluation instead where that is over its limit. A program that is
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
