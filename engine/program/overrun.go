package program

import (
	"slices"
	"time"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// EvaluationInput is what expressions of a program are evaluated on.
type EvaluationInput struct {
	Snapshot *fleet.Snapshot
	// Groups says that groups are evaluated, and Spent what predicates and tiers have cost by then; else these are.
	Groups bool
	Spent  uint64
	// Scope are the clusters to evaluate, Incumbents those that are selected, Held those that stay whatever matches them.
	Scope, Incumbents, Held *bitset.BitSet
}

// overrun is a decision whose expressions cost more than they may.
type overrun struct {
	groups  bool
	spent   uint64
	problem string
	// until is when a score that was read goes out of date; zero for never.
	until                   time.Time
	states                  []fleet.FacetVersions
	scope, incumbents, held *bitset.BitSet
	// scores are those of each cluster of the scope, resource by resource.
	scores []*fleet.Score
}

// RecordOverrun remembers that the expressions cost more than they may, and until when that holds though nothing changes. It is
// safe for concurrent use. A program that computes the names of scores cannot say what it reads, so it remembers nothing.
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

// LastOverrun returns the problem and the instant that were remembered, where nothing that was evaluated has changed since. The placement need not be evaluated again to exceed its limit again.
func (p *Program) LastOverrun(on EvaluationInput) (problem string, until time.Time, ok bool) {
	was := p.overrun.Load()
	if was == nil || was.groups != on.Groups || was.spent != on.Spent || !was.until.IsZero() && !on.Snapshot.Now.Before(was.until) ||
		!was.scope.Equal(on.Scope) || !was.incumbents.Equal(on.Incumbents) || !was.held.Equal(on.Held) {
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

// selectorFacets returns the parts of a cluster that selectors and expressions read.
func (p *Program) selectorFacets() fleet.Facet {
	return p.Facets() | fleet.FacetLabels | fleet.FacetClaims
}

// scoresOf returns the scores that expressions can read. Known is false where they compute which.
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
