package celenv

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/utils/lru"

	"github.com/berth-project/berth/engine/fleet"
)

// Expression is a compiled expression. It is immutable, unless its Env is for trials. The outcomes of runs are cached
// beside it.
type Expression struct {
	// Text is the source.
	Text string

	program cel.Program
	reads   readSet
	// trialCache is nil unless the Env is for trials.
	trialCache *trialCache
	results    *lru.Cache
}

// Answer is the result of an expression for one cluster.
type Answer uint8

const (
	// No means that the expression is false.
	No Answer = iota
	// Yes means that the expression is true.
	Yes
	// Failed means that the expression could not be evaluated, or did not yield a bool. A missing label is an example.
	Failed
	// Missing means that the expression could not be evaluated because a claim or score of the cluster is missing or out of date. So it is
	// where an expression that reads claims or scores takes an item of a list which is too short, and where a cluster has no claims at all.
	Missing
	// TooCostly means that the evaluation exceeded its cost limit.
	TooCostly
)

// missingError is the error of an expression that reads a claim or score which the cluster does not have.
type missingError struct{ text string }

func (e missingError) Error() string { return e.text }

// missing returns the value of a claim or score that the cluster does not have.
func missing(format string, arguments ...any) ref.Val {
	return types.WrapErr(missingError{fmt.Sprintf(format, arguments...)})
}

// answerCount is the number of answers.
const answerCount = int(TooCostly) + 1

// Outcome is the answer for one cluster, its cost in CEL cost units, and the problem if it failed.
type Outcome struct {
	Answer  Answer
	Problem string
	Cost    uint64
}

// Subject is the cluster that an expression is evaluated on, with its add-on scores by resource name (nil: none).
type Subject struct {
	Cluster *fleet.Cluster
	Score   func(resource string) *fleet.Score
	// Now is the instant of the decision. A score that is out of date by then counts as missing.
	Now time.Time
}

// Eval evaluates the expression on one cluster.
func (e *Expression) Eval(subject Subject) Outcome {
	if e.trialCache != nil {
		return e.cachedEval(subject)
	}
	return e.eval(subject, e.reads.facets)
}

// EvalAllFacets evaluates the expression on the whole object, for tests of the facets that Eval reads. It costs the same
// as Eval.
func (e *Expression) EvalAllFacets(subject Subject) Outcome { return e.eval(subject, allFacets) }

func (e *Expression) eval(subject Subject, facets fleet.Facet) Outcome {
	in, err := newVariable(subject, facets)
	if err != nil {
		return Outcome{Answer: Failed, Problem: err.Error()}
	}
	made := in.cost()
	if facets != e.reads.facets {
		part, err := newVariable(subject, e.reads.facets)
		if err != nil {
			return Outcome{Answer: Failed, Problem: err.Error()}
		}
		made = part.cost()
	}
	if made > ExpressionCost {
		return tooCostly()
	}
	running := &meter{cluster: in, spent: made}
	value, _, err := e.program.Eval(running)
	out := Outcome{Cost: running.spent}
	var cancelled interpreter.EvalCancelledError
	switch {
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded:
		return tooCostly()
	case errors.As(err, &missingError{}), err != nil && e.reads.lists() && isOutOfRange(err),
		err != nil && e.reads.facets&fleet.FacetClaims != 0 && strings.HasPrefix(err.Error(), noClaims):
		out.Answer, out.Problem = Missing, err.Error()
	case err != nil:
		out.Answer, out.Problem = Failed, err.Error()
	case value == types.True:
		out.Answer = Yes
	case value != types.False:
		out.Answer, out.Problem = Failed, errNotBool.Error()
	}
	return out
}

// noClaims is the error of an expression that reads the list of the claims of a cluster which has none. The library has no type for it.
const noClaims = "no such key: clusterClaims"

// isOutOfRange reports whether an expression failed since a list is shorter than it expects. The library has no type for this error.
func isOutOfRange(err error) bool {
	return strings.HasPrefix(err.Error(), "index out of bounds") || strings.Contains(err.Error(), "out of range in list size")
}

func tooCostly() Outcome {
	return Outcome{Answer: TooCostly, Problem: "the evaluation ran over its cost limit", Cost: ExpressionCost}
}

// Facets returns the parts of a cluster that the expression can read.
func (e *Expression) Facets() fleet.Facet { return e.reads.facets }

// Scores returns the add-on resources that the expression can read, sorted. all is true if it can read any resource.
func (e *Expression) Scores() (names []string, all bool) { return e.reads.scores, e.reads.anyScore }
