package filter

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/verdict"
)

// Matched is what the predicates said.
type Matched struct {
	// In holds the clusters that pass.
	In *bitset.BitSet
	// Held names the clusters that pass only because they were selected before and an expression ran over its cost
	// limit on them, each with the problem.
	Held map[fleet.ID]string
	// Dead names the first expression that failed on every cluster it was evaluated on; empty where none did. Nothing
	// can be decided by it.
	Dead string

	predicates []matched
}

// matched is what one predicate said: the clusters that its expressions dropped. Those that its selector dropped are
// not listed, since the requirement that fell can be read off the selector.
type matched struct {
	predicate program.Predicate
	fell      map[fleet.ID]fall
}

// fall is the expression that dropped a cluster, and how.
type fall struct {
	expression int
	outcome    celenv.Outcome
}

// Predicates narrows scope to the clusters that at least one predicate matches. It reads labels, claims and whatever
// the expressions read. An incumbent on which an expression is too costly stays and is held; a newcomer falls.
func Predicates(s *fleet.Snapshot, p *program.Program, scope, incumbents *bitset.BitSet) Matched {
	if len(p.Predicates) == 0 {
		return Matched{In: scope.Clone()}
	}
	out := Matched{In: &bitset.BitSet{}, Held: map[fleet.ID]string{}}
	budget := uint64(celenv.PlacementCost)
	for i, predicate := range p.Predicates {
		in := scope.Clone()
		predicate.Selector.Narrow(s, in)
		ran := matched{predicate: predicate}
		if len(predicate.Expressions) > 0 {
			run := expressionRun{snapshot: s, expressions: predicate.Expressions, budget: &budget}
			ran.fell = run.narrow(in)
			out.hold(ran.fell, incumbents)
			if out.Dead == "" {
				out.Dead = run.dead(i)
			}
		}
		out.In.InPlaceUnion(in)
		out.predicates = append(out.predicates, ran)
	}
	for id := range out.Held {
		if out.In.Test(id) {
			delete(out.Held, id)
			continue
		}
		out.In.Set(id)
	}
	return out
}

func (m *Matched) hold(fell map[fleet.ID]fall, incumbents *bitset.BitSet) {
	for id, fall := range fell {
		if fall.outcome.Answer == celenv.TooCostly && incumbents.Test(id) {
			m.Held[id] = fall.outcome.Problem
		}
	}
}

// Why returns the verdict on a cluster that no predicate matched.
func (m *Matched) Why(c *fleet.Cluster, id fleet.ID) verdict.Verdict {
	out := verdict.Verdict{Code: verdict.Mismatch}
	var clauses verdict.Mismatches
	for i, ran := range m.predicates {
		clause := verdict.Clause{Predicate: i}
		if fall, ok := ran.fell[id]; ok {
			clause.Text, clause.Problem = ran.predicate.Expressions[fall.expression].Text, fall.outcome.Problem
			if fall.outcome.Answer == celenv.TooCostly {
				out.Code = verdict.TooCostly
			}
		} else {
			clause.Text = firstUnmet(ran.predicate.Selector, c)
		}
		clauses = append(clauses, clause)
	}
	out.Argument = clauses
	return out
}

func firstUnmet(selector fleet.Selector, c *fleet.Cluster) string {
	for _, requirement := range selector {
		if !requirement.Matches(c) {
			return requirement.String()
		}
	}
	return ""
}

// expressionRun evaluates the expressions of one predicate, within what is left of the placement's budget.
type expressionRun struct {
	snapshot    *fleet.Snapshot
	expressions []*celenv.Expression
	budget      *uint64

	evaluated, failed int
	problem           string
}

// narrow drops from in every cluster that an expression does not accept, and says how each fell. Clusters go by name,
// so that a budget that runs out does so at the same cluster every time.
func (r *expressionRun) narrow(in *bitset.BitSet) map[fleet.ID]fall {
	ids := in.AppendTo(nil)
	slices.SortFunc(ids, func(a, b fleet.ID) int { return cmp.Compare(r.snapshot.Name(a), r.snapshot.Name(b)) })
	fell := map[fleet.ID]fall{}
	for _, id := range ids {
		if fall, ok := r.first(id); ok {
			fell[id] = fall
			in.Clear(id)
		}
	}
	return fell
}

// first returns the first expression that does not accept a cluster. Ok is false where all do.
func (r *expressionRun) first(id fleet.ID) (fall, bool) {
	subject := celenv.Subject{
		Cluster: r.snapshot.Cluster(id),
		Score:   func(resource string) *fleet.Score { return r.snapshot.Score(id, resource) },
	}
	r.evaluated++
	left := min(uint64(celenv.SelectorCost), *r.budget)
	for i, expression := range r.expressions {
		if left == 0 {
			return fall{i, celenv.Outcome{Answer: celenv.TooCostly, Problem: "the expressions together ran over their cost limit"}}, true
		}
		outcome := expression.Eval(subject)
		left -= min(left, outcome.Cost)
		*r.budget -= min(*r.budget, outcome.Cost)
		if outcome.Answer == celenv.Failed {
			r.failed++
			r.problem = cmp.Or(r.problem, fmt.Sprintf("celExpressions[%d]: %s", i, outcome.Problem))
		}
		if outcome.Answer != celenv.Yes {
			return fall{i, outcome}, true
		}
	}
	return fall{}, false
}

// dead says how an expression fails on every cluster; empty where it does not.
func (r *expressionRun) dead(predicate int) string {
	if r.evaluated == 0 || r.failed < r.evaluated {
		return ""
	}
	return fmt.Sprintf("predicates[%d].%s on every one of %d clusters", predicate, r.problem, r.evaluated)
}
