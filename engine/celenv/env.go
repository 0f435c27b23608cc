package celenv

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/parser"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/utils/lru"
)

const (
	variable       = "managedCluster"
	scoresFunction = "scores"
	claimFunction  = "claim"
	parseFunction  = "parseJSON"

	// ExpressionCost is the most that one evaluation on one cluster may cost, in cost units.
	ExpressionCost = 1_000_000
	// SelectorCost is the most that all expressions of one selector may cost together on one cluster.
	SelectorCost = 10_000_000
	// PlacementCost is the most that all expressions of one placement may cost in one decision, over all clusters. It is
	// at most two seconds of one core; BenchmarkUnit verifies that for every function.
	PlacementCost = 15_000_000

	maxCachedExpressions = 4096
	// maxCachedLength is the largest length of an expression whose compiled form is cached.
	maxCachedLength = 1024
)

// Env compiles expressions, and caches compiled expressions and their outcomes. The least recently used are evicted
// first.
type Env struct {
	env *cel.Env
	// macroFreeParser parses an expression without expanding its macros.
	macroFreeParser *parser.Parser
	costModel       *costModel
	cache           *lru.Cache
	results         *lru.Cache
	// evicting is the Env that compiles for a trial Env. room is how many more outcomes the trial Env may cache, for all
	// its expressions together. Both are nil for other Envs.
	evicting *Env
	room     *int
}

// New makes an Env. An error is a defect of Berth, never of a user's input.
func New() (*Env, error) {
	env, err := cel.NewEnv(
		cel.CustomTypeAdapter(adapter{}),
		cel.Variable(variable, clusterType()),
		cel.OptionalTypes(),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		ext.Strings(),
		library.Lists(), library.Regex(), library.URLs(), library.Quantity(), library.IP(), library.CIDR(),
		library.Format(), library.SemverLib(library.SemverVersion(1)),
		scoresOption(), claimOption(), parseOption(),
		cel.ParserExpressionSizeLimit(maxExpressionLength), cel.ParserRecursionLimit(maxExpressionDepth),
	)
	if err != nil {
		return nil, fmt.Errorf("making the CEL environment: %w", err)
	}
	plain, err := parser.NewParser(parser.EnableOptionalSyntax(true),
		parser.ExpressionSizeCodePointLimit(maxExpressionLength), parser.MaxRecursionDepth(maxExpressionDepth))
	if err != nil {
		return nil, fmt.Errorf("making the CEL parser: %w", err)
	}
	tariff, err := newCostModel(env)
	if err != nil {
		return nil, fmt.Errorf("pricing the CEL functions: %w", err)
	}
	return &Env{env: env, macroFreeParser: plain, costModel: tariff, cache: lru.New(maxCachedExpressions), results: lru.New(maxCachedResults)},
		nil
}

// cacheEntry is a cache entry: an expression, or the error of its text.
type cacheEntry struct {
	expression *Expression
	err        error
}

// Compile checks and compiles an expression. Its type must be bool, or a type that only the evaluation on a cluster
// determines.
func (e *Env) Compile(text string) (*Expression, error) {
	if hit, ok := e.cache.Get(text); ok {
		entry, _ := hit.(cacheEntry)
		return entry.expression, entry.err
	}
	expression, err := e.compiled(text)
	if len(text) <= maxCachedLength || e.evicting != nil {
		e.cache.Add(text, cacheEntry{expression, err})
	}
	return expression, err
}

func (e *Env) compiled(text string) (*Expression, error) {
	if e.evicting == nil {
		return e.compile(text)
	}
	expression, err := e.evicting.Compile(text)
	return expression.withTrialCache(e.room), err
}

func (e *Env) compile(text string) (*Expression, error) {
	if err := e.checkExpandedSize(text); err != nil {
		return nil, fmt.Errorf("compilation failed: %w", err)
	}
	checked, issues := e.env.Compile(text)
	if len(issues.Errors()) > 0 {
		return nil, fmt.Errorf("compilation failed: %w", formatErrors(issues, text))
	}
	if out := checked.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("compilation failed: the expression yields %s, want bool", out)
	}
	program, err := e.env.Program(checked, cel.CustomDecorator(e.costModel.decorate))
	if err != nil {
		return nil, fmt.Errorf("instantiation failed: %w", err)
	}
	return &Expression{Text: text, program: program, reads: newReadSet(root(checked)), results: e.results}, nil
}

func root(checked *cel.Ast) ast.Expr { return checked.NativeRep().Expr() }

var errNotBool = errors.New("the expression did not yield a bool")
