package filter

import (
	"cmp"
	"fmt"
	"iter"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// Evaluation evaluates expressions of one placement on clusters, within one cost budget.
type Evaluation struct {
	snapshot *fleet.Snapshot
	left     uint64
}

// NewEvaluation starts an evaluation that may cost as much as one decision may.
func NewEvaluation(s *fleet.Snapshot) *Evaluation {
	return &Evaluation{snapshot: s, left: celenv.PlacementCost}
}

// Fallen is what the expressions of one predicate did to the clusters that its selector matches.
type Fallen struct {
	by                map[fleet.ID]fall
	evaluated, failed int
	problem           string
}

// fall is the expression that dropped a cluster, and how.
type fall struct {
	expression int
	outcome    celenv.Outcome
}

// Narrow drops from in every cluster that a predicate does not match, and says how each fell that fell to an expression.
// Those that the selector drops are not listed, since the requirement that fell can be read off it. Clusters go by name,
// so that a budget that runs out does so at the same cluster every time. What scores they ask for is noted in asked.
func (e *Evaluation) Narrow(predicate program.Predicate, in *bitset.BitSet, asked *Asked) Fallen {
	predicate.Selector.Narrow(e.snapshot, in)
	if len(predicate.Expressions) == 0 {
		return Fallen{}
	}
	ids := e.snapshot.ByName(in)
	out := Fallen{by: map[fleet.ID]fall{}, evaluated: len(ids)}
	for _, id := range ids {
		fell, ok := e.first(predicate.Expressions, id, asked)
		if !ok {
			continue
		}
		out.by[id] = fell
		in.Clear(id)
		if fell.outcome.Answer == celenv.Failed {
			out.failed++
			out.problem = cmp.Or(out.problem, fmt.Sprintf("celExpressions[%d]: %s", fell.expression, fell.outcome.Problem))
		}
	}
	return out
}

// first returns the first expression that does not accept a cluster. Ok is false where all do.
func (e *Evaluation) first(expressions []*celenv.Expression, id fleet.ID, asked *Asked) (fell fall, ok bool) {
	subject := celenv.Subject{
		Cluster: e.snapshot.Cluster(id), Now: e.snapshot.Now,
		Score: func(resource string) *fleet.Score { return asked.score(e.snapshot, id, resource) },
	}
	left := min(uint64(celenv.SelectorCost), e.left)
	for i, expression := range expressions {
		if left == 0 {
			return fall{i, celenv.Outcome{Answer: celenv.TooCostly, Problem: "the expressions together ran over their cost limit"}}, true
		}
		outcome := expression.Eval(subject)
		left -= min(left, outcome.Cost)
		e.left -= min(e.left, outcome.Cost)
		if outcome.Answer != celenv.Yes {
			return fall{i, outcome}, true
		}
	}
	return fall{}, false
}

// Dead says how an expression fails on every cluster; empty where it does not. The list and the index are where the
// predicate stands in the spec, such as "predicates" and 0.
func (f Fallen) Dead(list string, index int) string {
	if f.evaluated == 0 || f.failed < f.evaluated {
		return ""
	}
	return fmt.Sprintf("%s[%d].%s on every one of %d clusters", list, index, f.problem, f.evaluated)
}

// TooCostly yields the clusters on which an expression ran over its cost limit, each with the problem, in no order that
// means anything.
func (f Fallen) TooCostly() iter.Seq2[fleet.ID, string] {
	return func(yield func(fleet.ID, string) bool) {
		for id, fell := range f.by {
			if fell.outcome.Answer == celenv.TooCostly && !yield(id, fell.outcome.Problem) {
				return
			}
		}
	}
}
