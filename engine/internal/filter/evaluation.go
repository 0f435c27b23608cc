package filter

import (
	"fmt"
	"iter"
	"runtime"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// Evaluation evaluates the expressions of one placement on clusters, within one cost limit for the whole decision. Once
// the limit is exceeded, nothing more is evaluated and no decision is possible.
type Evaluation struct {
	snapshot *fleet.Snapshot
	// spent is the cost of all expressions so far.
	spent uint64
	limit uint64
}

// NewEvaluation starts an evaluation with the cost limit of one decision.
func NewEvaluation(s *fleet.Snapshot) Evaluation {
	return Evaluation{snapshot: s, limit: celenv.PlacementCost}
}

// Exceeded reports whether the expressions have cost more than the limit.
func (e *Evaluation) Exceeded() bool { return e.spent > e.limit }

// Spent returns the cost of all expressions so far.
func (e *Evaluation) Spent() uint64 { return e.spent }

// Rejected has the clusters that the expressions of one predicate rejected, among those that its selector matches.
type Rejected struct {
	snapshot     *fleet.Snapshot
	evaluated    uint
	byExpression []rejections
	// limitExceeded is the message for an exceeded cost limit; empty otherwise.
	limitExceeded string
	// problems are the problems that no run caches: problems of expressions that read scores, and problems after the cost
	// limit was exceeded.
	problems map[fleet.ID]string
}

// rejections are the clusters that one expression rejected, by answer.
type rejections struct {
	celenv.OutcomesByAnswer

	// run has the problems of the clusters on which the expression failed or was too costly; nil without such clusters.
	run *celenv.Run
}

// rejection is the expression that rejected a cluster, and its answer.
type rejection struct {
	expression int
	outcome    celenv.Outcome
}

// Filter removes from in every cluster that a predicate does not match, and returns the clusters that an expression
// rejected. Clusters that the selector rejects are not listed: Requirement.Matches finds their reason. Clusters are
// evaluated by name, so that a limit is always exceeded at the same cluster; later clusters stay in. The scores that
// expressions read are recorded in scoreReads.
func (e *Evaluation) Filter(predicate program.Predicate, in *bitset.BitSet, reads *ScoreReads) Rejected {
	predicate.Selector.Filter(e.snapshot, in)
	if len(predicate.Expressions) == 0 {
		return Rejected{}
	}
	work := e.start(predicate.Expressions, reads)
	if out, ok := work.fromCache(in); ok {
		return out
	}
	return work.evaluate(in)
}

// evaluate removes from in every cluster for which one of the expressions is not true.
func (r *predicateRun) evaluate(in *bitset.BitSet) Rejected {
	ids := r.evaluation.snapshot.ByName(in)
	out := Rejected{snapshot: r.evaluation.snapshot, evaluated: in.Count(), byExpression: make([]rejections, 0, len(r.runs))}
	for _, run := range r.runs {
		out.byExpression = append(out.byExpression, rejections{celenv.NewOutcomesByAnswer(), run})
	}
	yielded := r.evaluation.spent
	for n, id := range ids {
		fell, ok := r.firstRejection(id)
		yielded = r.evaluation.yield(yielded)
		if r.evaluation.Exceeded() {
			out.limitExceeded = fmt.Sprintf("celExpressions[%d]: the expressions of a placement may cost %d units in one "+
				"decision, and these had cost %d "+
				"after %d of %d clusters: %s", r.at, r.evaluation.limit, r.evaluation.spent, n+1, len(ids), costAdvice)
			break
		}
		if ok {
			in.Clear(id)
			out.add(id, fell)
		}
	}
	for _, run := range r.runs {
		run.Store()
	}
	return out.compact()
}

// yieldCost is how many cost units are spent before other goroutines run: less than a millisecond of one core. Go
// preempts a goroutine only after ten milliseconds, and another placement would wait that long at every step.
const yieldCost = 20_000

// yield lets other goroutines run if enough was spent since the last yield. It returns the cost at the last yield.
func (e *Evaluation) yield(yielded uint64) uint64 {
	if e.spent-yielded < yieldCost {
		return yielded
	}
	runtime.Gosched()
	return e.spent
}

// costAdvice is the advice for expressions that cost too much.
const costAdvice = "select by labels, claims or names instead, make them simpler, or divide the placement. " +
	"The decisions stay as they are, and it is tried again once something that the placement reads changes"

// fromCache does the work of evaluate from cached outcomes. Ok is false, and nothing is changed, unless every outcome is
// cached and the total cost is within the limit.
func (r *predicateRun) fromCache(in *bitset.BitSet) (out Rejected, ok bool) {
	if len(r.runs) > celenv.SelectorCost/celenv.ExpressionCost {
		return Rejected{}, false
	}
	cost, left := uint64(0), in
	out = Rejected{snapshot: r.evaluation.snapshot, evaluated: in.Count(), byExpression: make([]rejections, 0, len(r.runs))}
	for _, run := range r.runs {
		cached, ok := run.Cached(left)
		if !ok {
			return Rejected{}, false
		}
		cost, left = cost+cached.Cost, cached.Clusters[celenv.Yes]
		out.byExpression = append(out.byExpression, rejections{cached, run})
	}
	if r.evaluation.spent+cost > r.evaluation.limit {
		return Rejected{}, false
	}
	r.evaluation.spent += cost
	in.InPlaceIntersection(left)
	return out.compact(), true
}

// add records the rejection of a cluster.
func (r *Rejected) add(id fleet.ID, fell rejection) {
	to := r.byExpression[fell.expression]
	to.Clusters[fell.outcome.Answer].Set(id)
	if problem := fell.outcome.Problem; to.run.Problem(id) != problem {
		if r.problems == nil {
			r.problems = map[fleet.ID]string{}
		}
		r.problems[id] = problem
	}
}

// compact returns the rejections without the data that is no longer needed.
func (r Rejected) compact() Rejected {
	for i := range r.byExpression {
		to := &r.byExpression[i]
		to.Clusters[celenv.Yes] = nil
		if to.Clusters[celenv.Failed].None() && to.Clusters[celenv.Missing].None() && to.Clusters[celenv.TooCostly].None() {
			to.run = nil
		}
	}
	return r
}

// rejectionOf returns the rejection of a cluster. Ok is false if no expression rejected it.
func (r *Rejected) rejectionOf(id fleet.ID) (fell rejection, ok bool) {
	for i, to := range r.byExpression {
		for _, answer := range []celenv.Answer{celenv.No, celenv.Failed, celenv.Missing, celenv.TooCostly} {
			if to.Clusters[answer].Test(id) {
				return rejection{i, celenv.Outcome{Answer: answer, Problem: r.problem(to, id)}}, true
			}
		}
	}
	return rejection{}, false
}

// problem returns the problem of an expression on a cluster; empty if the expression is false.
func (r *Rejected) problem(to rejections, id fleet.ID) string {
	if problem, kept := r.problems[id]; kept || to.run == nil {
		return problem
	}
	return to.run.Problem(id)
}

// predicateRun evaluates the expressions of one predicate.
type predicateRun struct {
	evaluation *Evaluation
	scoreReads *ScoreReads
	runs       []*celenv.Run
	// at is the index of the expression that was evaluated last.
	at int
}

func (e *Evaluation) start(expressions []*celenv.Expression, reads *ScoreReads) *predicateRun {
	out := &predicateRun{evaluation: e, scoreReads: reads}
	for _, expression := range expressions {
		out.runs = append(out.runs, expression.Run(e.snapshot))
	}
	return out
}

// firstRejection returns the first expression that is not true for a cluster. Ok is false if all are true.
func (r *predicateRun) firstRejection(id fleet.ID) (fell rejection, ok bool) {
	left := uint64(celenv.SelectorCost)
	for i, run := range r.runs {
		if left == 0 {
			return rejection{i, celenv.Outcome{Answer: celenv.TooCostly, Problem: "the expressions together ran over their cost limit"}}, true
		}
		outcome := run.Eval(id, func() celenv.Subject { return r.subject(id) })
		left -= min(left, outcome.Cost)
		r.evaluation.spent, r.at = r.evaluation.spent+outcome.Cost, i
		if r.evaluation.Exceeded() || outcome.Answer != celenv.Yes {
			return rejection{i, outcome}, true
		}
	}
	return rejection{}, false
}

// subject returns the input of the expressions for a cluster.
func (r *predicateRun) subject(id fleet.ID) celenv.Subject {
	return celenv.Subject{
		Cluster: r.evaluation.snapshot.Cluster(id), Now: r.evaluation.snapshot.Now,
		Score: func(resource string) *fleet.Score { return r.scoreReads.read(r.evaluation.snapshot, id, resource) },
	}
}

// FailsEverywhere returns why nothing can be decided: an expression fails on every cluster, with the problem of the
// first by name, or the expressions exceed the cost limit. Otherwise it is empty. list and index are the position of
// the predicate in the spec, such as "predicates" and 0.
func (r *Rejected) FailsEverywhere(list string, index int) string {
	if r.limitExceeded != "" {
		return fmt.Sprintf("%s[%d].%s", list, index, r.limitExceeded)
	}
	failed := &bitset.BitSet{}
	for _, to := range r.byExpression {
		failed.InPlaceUnion(to.Clusters[celenv.Failed])
		failed.InPlaceUnion(to.Clusters[celenv.Missing])
	}
	if r.evaluated == 0 || failed.Count() < r.evaluated {
		return ""
	}
	fell, _ := r.rejectionOf(r.snapshot.ByName(failed)[0])
	return fmt.Sprintf("%s[%d].celExpressions[%d]: %s on every one of %d clusters",
		list, index, fell.expression, fell.outcome.Problem, r.evaluated)
}

// TooCostly yields the clusters on which an expression exceeded its cost limit, each with the problem, in no particular
// order.
func (r *Rejected) TooCostly() iter.Seq2[fleet.ID, string] {
	return func(yield func(fleet.ID, string) bool) {
		for _, to := range r.byExpression {
			for id := range to.Clusters[celenv.TooCostly].EachSet() {
				if !yield(id, r.problem(to, id)) {
					return
				}
			}
		}
	}
}
