package program

import (
	"slices"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// EvaluationInput is the input of the expressions of a program.
type EvaluationInput struct {
	Snapshot *fleet.Snapshot
	// Groups is set for the expressions of groups, with Spent as the cost of predicates and tiers so far. Otherwise
	// predicates and tiers are evaluated.
	Groups bool
	Spent  uint64
	// Scope are the clusters to evaluate. Incumbents are the selected clusters. Held are the clusters that stay in any
	// case.
	Scope, Incumbents, Held *bitset.BitSet
}

// overrun is a decision whose expressions exceeded their cost limit.
type overrun struct {
	groups  bool
	spent   uint64
	problem string
	// until is when a score that was read goes out of date; zero for never.
	until                   time.Time
	states                  []fleet.FacetVersions
	scope, incumbents, held *bitset.BitSet
	// scores are the scores of each cluster of the scope, resource by resource.
	scores []*fleet.Score
}

// RecordOverrun records that the expressions exceeded the cost limit, and until when that holds if nothing changes. It is
// safe for concurrent use. It records nothing for a program that computes the names of scores, because its inputs are
// unknown.
func (p *Program) RecordOverrun(on EvaluationInput, problem string, until time.Time) {
	scores, known := p.scoresOf(on)
	if !known {
		return
	}
	p.overrun.Store(&overrun{
		groups: on.Groups, spent: on.Spent, problem: problem, until: until, states: on.Snapshot.FacetVersions(p.selectorFacets()), scores: scores,
		scope: on.Scope.Clone(), incumbents: on.Incumbents.Clone(), held: on.Held.Clone(),
	})
}

// LastOverrun returns the recorded problem and instant if no input of the evaluation has changed. The placement would
// exceed its limit again.
func (p *Program) LastOverrun(on EvaluationInput) (problem string, until time.Time, ok bool) {
	was := p.overrun.Load()
	if was == nil || was.groups != on.Groups || was.spent != on.Spent || !was.until.IsZero() && !on.Snapshot.Now.Before(was.until) ||
		!sameIDs(was.scope, on.Scope) || !sameIDs(was.incumbents, on.Incumbents) || !sameIDs(was.held, on.Held) {
		return "", time.Time{}, false
	}
	same := on.Scope.Union(on.Held)
	count := same.Count()
	for n, states := range on.Snapshot.FacetVersions(p.selectorFacets()) {
		states.RetainUnchanged(was.states[n], same)
	}
	scores, _ := p.scoresOf(on)
	if same.Count() < count || !slices.Equal(scores, was.scores) {
		return "", time.Time{}, false
	}
	return was.problem, was.until, true
}

// sameIDs reports whether two sets have the same IDs. Unlike bitset.Equal it ignores the capacity of the sets.
func sameIDs(a, b *bitset.BitSet) bool { return a.SymmetricDifferenceCardinality(b) == 0 }

// selectorFacets returns the parts of a cluster that selectors and expressions read.
func (p *Program) selectorFacets() fleet.Facet {
	return p.Facets() | fleet.FacetLabels | fleet.FacetClaims
}

// scoresOf returns the scores that expressions can read. Known is false if they compute the name of a score.
func (p *Program) scoresOf(on EvaluationInput) (out []*fleet.Score, known bool) {
	for expression := range p.Expressions() {
		names, all := expression.Scores()
		if all {
			return nil, false
		}
		for _, name := range names {
			for id := range on.Scope.EachSet() {
				out = append(out, on.Snapshot.Score(id, name))
			}
			for id := range on.Held.EachSet() {
				out = append(out, on.Snapshot.Score(id, name))
			}
		}
	}
	return out, true
}
