package celenv

import (
	"fmt"
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

const (
	stepCost = 1
	// makeCost is the cost of a new list or map, beside one unit for each value in it.
	makeCost = 10
)

// costModel adds a price to every step of a program. A step is paid for before it runs, because one call may take minutes
// or all memory.
type costModel struct {
	costs map[string]costFunc
	// bindings are the implementations of functions, by overload and by name.
	bindings map[string]*functions.Overload
}

func newCostModel(env *cel.Env) (*costModel, error) {
	out := &costModel{costs: costFuncs(cachedPatternSize()), bindings: map[string]*functions.Overload{}}
	for _, function := range env.Functions() {
		bindings, err := function.Bindings()
		if err != nil {
			return nil, fmt.Errorf("reading what %s does: %w", function.Name(), err)
		}
		for _, binding := range bindings {
			out.bindings[binding.Operator] = binding
		}
	}
	return out, nil
}

// decorate returns a step with its price.
func (c *costModel) decorate(step interpreter.Interpretable) (interpreter.Interpretable, error) {
	switch s := step.(type) {
	case *meteredAttribute:
		return s, nil // a longer path of a metered attribute
	case interpreter.InterpretableAttribute:
		return &meteredAttribute{InterpretableAttribute: s, units: stepCost}, nil
	case interpreter.InterpretableConst:
		if s.Value().Type() == types.BoolType {
			return meteredConstant{s}, nil
		}
		return s, nil // the step that reads it pays for it
	case interpreter.InterpretableConstructor:
		return meterConstructor(s), nil
	case interpreter.InterpretableCall:
		return c.meterCall(s)
	default:
		return meteredStep{step, stepCost}, nil
	}
}

// meteredStep is a step of a fixed price.
type meteredStep struct {
	interpreter.Interpretable

	units uint64
}

func (m meteredStep) Eval(vars interpreter.Activation) ref.Val {
	spend(vars, m.units)
	return m.Interpretable.Eval(vars)
}

// meteredConstant is a bool that is written in the expression. An expression can contain thousands of them in a row.
type meteredConstant struct{ interpreter.InterpretableConst }

func (c meteredConstant) Eval(vars interpreter.Activation) ref.Val {
	spend(vars, stepCost)
	return c.InterpretableConst.Eval(vars)
}

// meteredAttribute is a path, such as managedCluster.metadata.labels, of so many parts.
type meteredAttribute struct {
	interpreter.InterpretableAttribute

	units uint64
}

// AddQualifier makes the path longer.
func (a *meteredAttribute) AddQualifier(by interpreter.Qualifier) (interpreter.Attribute, error) {
	a.units++
	if _, err := a.InterpretableAttribute.AddQualifier(by); err != nil {
		return nil, err //nolint:wrapcheck // the library's message is complete
	}
	return a, nil
}

// Attr returns the path for steps that read it themselves.
func (a *meteredAttribute) Attr() interpreter.Attribute { return a }

// Eval returns the value at the end of the path.
func (a *meteredAttribute) Eval(vars interpreter.Activation) ref.Val {
	spend(vars, a.units)
	return a.InterpretableAttribute.Eval(vars)
}

// Resolve is Eval for a path within a path.
func (a *meteredAttribute) Resolve(vars interpreter.Activation) (any, error) {
	spend(vars, a.units)
	return a.InterpretableAttribute.Resolve(vars) //nolint:wrapcheck // as above
}

// meterConstructor returns the step that makes a list or a map. A list or map of constants is made once.
func meterConstructor(step interpreter.InterpretableConstructor) interpreter.Interpretable {
	constants := 0
	for _, item := range step.InitVals() {
		if _, ok := item.(interpreter.InterpretableConst); ok {
			constants++
		}
	}
	if items := len(step.InitVals()); constants < items {
		return meteredStep{step, makeCost + uint64(items)}
	}
	return interpreter.NewConstValue(step.ID(), step.Eval(interpreter.EmptyActivation()))
}

// meterCall returns a call that is paid for by the size of its arguments.
func (c *costModel) meterCall(step interpreter.InterpretableCall) (interpreter.Interpretable, error) {
	of, priced := c.costs[step.Function()]
	if !priced || len(step.Args()) == 0 {
		return meteredStep{step, stepCost}, nil
	}
	does, err := c.implementation(step)
	if does == nil || err != nil {
		return meteredStep{step, stepCost}, err
	}
	return &meteredCall{Interpretable: step, function: step.Function(), args: step.Args(), cost: of, invoke: does}, nil
}

// meteredCall is a call of a function.
type meteredCall struct {
	interpreter.Interpretable

	function string
	args     []interpreter.Interpretable
	cost     costFunc
	invoke   func(args []ref.Val) ref.Val
}

// Eval evaluates the arguments, pays and calls.
func (c *meteredCall) Eval(vars interpreter.Activation) ref.Val {
	var few [3]ref.Val
	args := few[:0]
	for _, arg := range c.args {
		value := arg.Eval(vars)
		if types.IsUnknownOrError(value) {
			return value
		}
		args = append(args, value)
	}
	spend(vars, c.cost(args))
	out := types.LabelErrNode(c.ID(), c.invoke(args))
	if c.function == scoresFunction { // the number of scores is known only after the call
		spend(vars, 4*valueSize(out))
	}
	return out
}

// implementation returns the function of a call; nil if the interpreter runs the call.
func (c *costModel) implementation(of interpreter.InterpretableCall) (func(args []ref.Val) ref.Val, error) {
	switch of.Function() {
	case operators.Equals:
		return func(args []ref.Val) ref.Val { return types.Equal(args[0], args[1]) }, nil
	case operators.NotEquals:
		return func(args []ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }, nil
	case "matches":
		if pattern, known := of.Args()[1].(interpreter.InterpretableConst); known {
			return compileMatcher(text(pattern.Value()))
		}
	}
	binding := c.bindings[of.OverloadID()]
	if binding == nil {
		binding = c.bindings[of.Function()]
	}
	if binding == nil || binding.NonStrict {
		return nil, nil //nolint:nilnil // a call whose arguments may be errors has no price
	}
	does := bindOverload(binding, of)
	if does == nil || of.Function() != operators.Add {
		return does, nil
	}
	return func(args []ref.Val) ref.Val {
		a, isList := args[0].(traits.Lister)
		b, both := args[1].(traits.Lister)
		if _, grows := args[0].(traits.MutableLister); grows || !isList || !both {
			return does(args)
		}
		return concatenate(a, b)
	}, nil
}

// compileMatcher returns a function that matches texts with a pattern, compiled once.
func compileMatcher(pattern string) (func(args []ref.Val) ref.Val, error) {
	if len(pattern) > maxPatternLength || patternSize(pattern) > maxPatternSize {
		return nil, errPattern
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err //nolint:wrapcheck // the library's message describes the fault of the pattern
	}
	return func(args []ref.Val) ref.Val {
		in, ok := args[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		return types.Bool(compiled.MatchString(string(in)))
	}, nil
}

// bindOverload returns a binding as a function of the arguments of a call; nil if the number of arguments differs.
func bindOverload(to *functions.Overload, of interpreter.InterpretableCall) func(args []ref.Val) ref.Val {
	var does func(args []ref.Val) ref.Val
	switch arguments := len(of.Args()); {
	case arguments == 1 && to.Unary != nil:
		does = func(args []ref.Val) ref.Val { return to.Unary(args[0]) }
	case arguments == 2 && to.Binary != nil:
		does = func(args []ref.Val) ref.Val { return to.Binary(args[0], args[1]) }
	case to.Function != nil:
		does = func(args []ref.Val) ref.Val { return to.Function(args...) }
	default:
		return nil
	}
	if to.OperandTrait == 0 {
		return does
	}
	return func(args []ref.Val) ref.Val {
		if !args[0].Type().HasTrait(to.OperandTrait) {
			return types.NewErr("no such overload: %s", of.Function())
		}
		return does(args)
	}
}
