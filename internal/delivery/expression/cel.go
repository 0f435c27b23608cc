package expression

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"
)

const (
	objectVariable = "object"
	resultVariable = "result"

	// evaluationCost is the most that one evaluation may cost, in the units of cel-go.
	evaluationCost = 1_000_000
	// maxDepth is how deep parentheses, calls and operators may be nested.
	maxDepth = 250
	// maxDoublings is how many macros an expression may have that repeat their target: each doubles what is compiled.
	maxDoublings = 6
	// MaxMessageLength is how many bytes a message may have. The rest is cut.
	MaxMessageLength = 1024
)

var (
	errEmpty     = errors.New("the expression is empty")
	errDoublings = fmt.Errorf("the expression has more than %d optMap and optFlatMap", maxDoublings)

	// ErrMissingField marks the error of an expression that reads a field which the object does not have, or not yet.
	ErrMissingField = errors.New("a field is missing")
)

// Compiler compiles CEL expressions. It is safe for concurrent use.
type Compiler struct {
	conditions, messages *cel.Env
}

// NewCompiler returns a Compiler. An error is a defect of Berth, never of a user's input.
func NewCompiler() (*Compiler, error) {
	conditions, err := cel.NewEnv(
		cel.Variable(objectVariable, cel.DynType),
		cel.OptionalTypes(),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		ext.Strings(ext.StringsVersion(2)),
		library.Lists(), library.Regex(), library.URLs(), library.Quantity(), library.IP(), library.CIDR(),
		library.Format(), library.SemverLib(library.SemverVersion(1)),
		hasConditions(),
		cel.ParserExpressionSizeLimit(MaxLength), cel.ParserRecursionLimit(maxDepth),
	)
	if err != nil {
		return nil, fmt.Errorf("making the CEL environment of conditions: %w", err)
	}
	messages, err := conditions.Extend(cel.Variable(resultVariable, cel.BoolType))
	if err != nil {
		return nil, fmt.Errorf("making the CEL environment of messages: %w", err)
	}
	return &Compiler{conditions: conditions, messages: messages}, nil
}

// Condition is a compiled expression that is true or false of an object. It is safe for concurrent use.
type Condition struct{ program cel.Program }

// Condition compiles an expression over `object`. Its type must be bool, or a type that only an object determines.
func (c *Compiler) Condition(text string) (*Condition, error) {
	program, err := compile(c.conditions, text, cel.BoolType)
	if err != nil {
		return nil, err
	}
	return &Condition{program}, nil
}

// Evaluate returns whether the expression is true of an object. The error is ErrMissingField where a field is missing.
func (c *Condition) Evaluate(object map[string]any) (bool, error) {
	value, err := evaluate(c.program, map[string]any{objectVariable: object})
	if err != nil {
		return false, err
	}
	out, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("the expression yields %s, want bool", value.Type().TypeName())
	}
	return out, nil
}

// Message is a compiled expression that describes an object. It is safe for concurrent use.
type Message struct{ program cel.Program }

// Message compiles an expression over `object` and `result`, the outcome of the conditions. Its type must be string, or a
// type that only an object determines.
func (c *Compiler) Message(text string) (*Message, error) {
	program, err := compile(c.messages, text, cel.StringType)
	if err != nil {
		return nil, err
	}
	return &Message{program}, nil
}

// Evaluate returns the message about an object, at most MaxMessageLength bytes of it. The error is ErrMissingField where a
// field is missing.
func (m *Message) Evaluate(object map[string]any, result bool) (string, error) {
	value, err := evaluate(m.program, map[string]any{objectVariable: object, resultVariable: result})
	if err != nil {
		return "", err
	}
	out, ok := value.Value().(string)
	if !ok {
		return "", fmt.Errorf("the expression yields %s, want string", value.Type().TypeName())
	}
	return strings.ToValidUTF8(out[:min(len(out), MaxMessageLength)], ""), nil
}

func compile(env *cel.Env, text string, want *cel.Type) (cel.Program, error) {
	if err := checkLength(text); err != nil {
		return nil, err
	}
	if strings.Count(text, "optMap")+strings.Count(text, "optFlatMap") > maxDoublings {
		return nil, errDoublings
	}
	checked, issues := env.Compile(text)
	if found := issues.Errors(); len(found) > 0 {
		return nil, fmt.Errorf("compilation failed at column %d: %s", found[0].Location.Column()+1, found[0].Message)
	}
	if out := checked.OutputType(); !out.IsExactType(want) && !out.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("compilation failed: the expression yields %s, want %s", out, want)
	}
	program, err := env.Program(checked, cel.CostTracking(&library.CostEstimator{}), cel.CostLimit(evaluationCost))
	if err != nil {
		return nil, fmt.Errorf("compilation failed: %w", err)
	}
	return program, nil
}

// evaluate runs a program. cel-go has no exported error for a missing field, so the message decides.
func evaluate(program cel.Program, variables map[string]any) (ref.Val, error) {
	value, _, err := program.Eval(variables)
	switch {
	case err == nil:
		return value, nil
	case strings.HasPrefix(err.Error(), "no such key"), strings.HasPrefix(err.Error(), "index out of bounds"):
		return nil, fmt.Errorf("%w: %s", ErrMissingField, err.Error())
	default:
		return nil, fmt.Errorf("evaluation failed: %w", err)
	}
}
