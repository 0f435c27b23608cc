package report

import (
	"sync"

	"k8s.io/client-go/util/jsonpath"

	"github.com/berth-project/berth/internal/delivery/expression"
)

// maxCompiled bounds each cache of compiled expressions.
const maxCompiled = 1000

// Evaluator evaluates the rules of works, and keeps the compiled expressions. It is safe for concurrent use.
type Evaluator struct {
	// compiler is made at the first rule: it takes memory that most members can save.
	compiler   func() (*expression.Compiler, error)
	conditions compiled[*expression.Condition]
	messages   compiled[*expression.Message]
	paths      compiled[*jsonpath.JSONPath]
	// reading keeps paths from concurrent use, which they do not support.
	reading sync.Mutex
}

// NewEvaluator returns an evaluator.
func NewEvaluator() *Evaluator {
	return &Evaluator{compiler: sync.OnceValues(expression.NewCompiler)}
}

// condition compiles an expression.
func (e *Evaluator) condition(text string) (*expression.Condition, error) {
	compiler, err := e.compiler()
	if err != nil {
		return nil, err
	}
	return compiler.Condition(text) //nolint:wrapcheck // it names the place in the expression
}

// message compiles an expression for a message.
func (e *Evaluator) message(text string) (*expression.Message, error) {
	compiler, err := e.compiler()
	if err != nil {
		return nil, err
	}
	return compiler.Message(text) //nolint:wrapcheck // it names the place in the expression
}

// compiled is a cache of compiled expressions by their text.
type compiled[T any] struct {
	mu    sync.Mutex
	known map[string]outcome[T]
}

type outcome[T any] struct {
	program T
	err     error
}

// get returns the compiled form of a text.
func (c *compiled[T]) get(text string, compile func(string) (T, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.known[text]; ok {
		return found.program, found.err
	}
	if c.known == nil || len(c.known) >= maxCompiled {
		c.known = map[string]outcome[T]{}
	}
	program, err := compile(text)
	c.known[text] = outcome[T]{program, err}
	return program, err
}
