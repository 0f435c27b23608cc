package filter

import (
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
	// refused are, per expression, the clusters that it is false for; by are those on which one has a problem.
	refused           []*bitset.BitSet
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
	work := e.start(predicate.Expressions, asked)
	ids := e.snapshot.ByName(in)
	out := Fallen{by: map[fleet.ID]fall{}, evaluated: len(ids)}
	for range predicate.Expressions {
		out.refused = append(out.refused, &bitset.BitSet{})
	}
	for _, id := range ids {
		if fell, ok := work.first(id); ok {
			in.Clear(id)
			out.note(id, fell)
		}
	}
	for _, expression := range work.runs {
		expression.Keep()
	}
	return out
}

// note notes how a cluster fell.
func (f *Fallen) note(id fleet.ID, fell fall) {
	if fell.outcome.Answer == celenv.No {
		f.refused[fell.expression].Set(id)
		return
	}
	f.by[id] = fell
	if fell.outcome.Answer == celenv.Failed {
		f.failed++
		if f.problem == "" {
			f.problem = fmt.Sprintf("celExpressions[%d]: %s", fell.expression, fell.outcome.Problem)
		}
	}
}

// of returns how a cluster fell. Ok is false where it fell to no expression.
func (f Fallen) of(id fleet.ID) (fell fall, ok bool) {
	for i, refused := range f.refused {
		if refused.Test(id) {
			return fall{expression: i}, true
		}
	}
	fell, ok = f.by[id]
	return fell, ok
}

// running is the expressions of one predicate at work.
type running struct {
	*Evaluation
	asked *Asked
	runs  []*celenv.Run
}

func (e *Evaluation) start(expressions []*celenv.Expression, asked *Asked) *running {
	out := &running{Evaluation: e, asked: asked}
	for _, expression := range expressions {
		out.runs = append(out.runs, expression.Run(e.snapshot))
	}
	return out
}

// first returns the first expression that does not accept a cluster. Ok is false where all do.
func (r *running) first(id fleet.ID) (fell fall, ok bool) {
	left := min(uint64(celenv.SelectorCost), r.left)
	for i, run := range r.runs {
		if left == 0 {
			return fall{i, celenv.Outcome{Answer: celenv.TooCostly, Problem: "the expressions together ran over their cost limit"}}, true
		}
		outcome := run.Eval(id, func() celenv.Subject { return r.subject(id) })
		left -= min(left, outcome.Cost)
		r.left -= min(r.left, outcome.Cost)
		if outcome.Answer != celenv.Yes {
			return fall{i, outcome}, true
		}
	}
	return fall{}, false
}

// subject is a cluster as expressions see it.
func (r *running) subject(id fleet.ID) celenv.Subject {
	return celenv.Subject{
		Cluster: r.snapshot.Cluster(id), Now: r.snapshot.Now,
		Score: func(resource string) *fleet.Score { return r.asked.score(r.snapshot, id, resource) },
	}
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
