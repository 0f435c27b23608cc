package filter

import (
	"cmp"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/verdict"
)

// PredicateResult is the result of the predicates.
type PredicateResult struct {
	// In holds the clusters that pass.
	In *bitset.BitSet
	// Held has the clusters that pass only because they were selected before, and an expression exceeded its cost limit on
	// them or a claim or score is missing, each with the problem.
	Held map[fleet.ID]string
	// Failing has the incumbents that no predicate matches because a claim or score is missing, each with the problem. They
	// are in Held until their time is over.
	Failing map[fleet.ID]string
	// FailsEverywhere names the first expression that failed on every cluster it was evaluated on, or at which the
	// expressions exceeded the cost limit. It is empty otherwise. If it is set, no decision is possible.
	FailsEverywhere string
	// ScoreReads are the scores that expressions read.
	ScoreReads ScoreReads

	hold       MissingHold
	evaluation Evaluation
	predicates []predicateOutcome
}

// predicateOutcome is the result of one predicate.
type predicateOutcome struct {
	predicate program.Predicate
	rejected  Rejected
}

// Predicates narrows scope to the clusters that at least one predicate matches. It reads names, labels, claims and all
// that expressions read. An incumbent on which an expression is too costly stays and is held, and so is for a time one on
// which a claim or score is missing; a newcomer is rejected.
func Predicates(p *program.Program, scope *bitset.BitSet, hold MissingHold) PredicateResult {
	out := PredicateResult{hold: hold, evaluation: NewEvaluation(hold.Snapshot)}
	if len(p.Predicates) == 0 {
		out.In = scope.Clone()
		return out
	}
	out.predicates = make([]predicateOutcome, 0, len(p.Predicates))
	out.Held, out.Failing = map[fleet.ID]string{}, map[fleet.ID]string{}
	for i, predicate := range p.Predicates {
		in := scope.Clone()
		fell := out.evaluation.Filter(predicate, in, &out.ScoreReads)
		out.holdIncumbents(fell, predicate)
		out.FailsEverywhere = cmp.Or(out.FailsEverywhere, hold.failsEverywhere(&fell, "predicates", i))
		if out.In == nil {
			out.In = in
		} else {
			out.In.InPlaceUnion(in)
		}
		out.predicates = append(out.predicates, predicateOutcome{predicate, fell})
		if out.evaluation.Exceeded() {
			break
		}
	}
	out.keepHeld()
	return out
}

// keepHeld lets the held incumbents pass that no predicate matches.
func (p *PredicateResult) keepHeld() {
	for id, problem := range p.Failing {
		_, costly := p.Held[id]
		switch {
		case p.In.Test(id) || costly:
			delete(p.Failing, id)
		case p.hold.stays(id):
			p.Held[id] = problem
		}
	}
	for id := range p.Held {
		if p.In.Test(id) {
			delete(p.Held, id)
			continue
		}
		p.In.Set(id)
	}
}

// Evaluation returns the evaluation for the following stages, with the rest of the cost limit.
func (p *PredicateResult) Evaluation() *Evaluation { return &p.evaluation }

// holdIncumbents records the incumbents on which an expression was too costly, or read a claim or score that is missing.
func (p *PredicateResult) holdIncumbents(fell Rejected, predicate program.Predicate) {
	for id, problem := range fell.TooCostly() {
		if p.hold.Incumbents.Test(id) {
			p.Held[id] = problem
		}
	}
	p.hold.incumbentsWithout(&fell, predicate, p.Failing)
}

// Verdict returns the verdict on a cluster that no predicate matched.
func (p *PredicateResult) Verdict(c *fleet.Cluster, id fleet.ID) verdict.Verdict {
	out := verdict.Verdict{Code: verdict.Mismatch}
	var clauses verdict.Mismatches
	for i, ran := range p.predicates {
		clause := verdict.Clause{Predicate: i}
		if fall, ok := ran.rejected.rejectionOf(id); ok {
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
