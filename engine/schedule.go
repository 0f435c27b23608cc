package engine

import (
	"cmp"
	"time"

	"github.com/bits-and-blooms/bitset"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-project/berth/engine/filter"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/group"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/score"
	"github.com/berth-project/berth/engine/selection"
)

// Decide decides a placement on a fleet: it runs its program, and where there is none, for the faults of the placement, it keeps
// what was decided before.
func Decide(s *fleet.Snapshot, key fleet.Key, p *program.Program, faults field.ErrorList, past ledger.Ledger) *Result {
	if p == nil || len(faults) > 0 {
		return keepDecisions(s, key, faultMessage(faults))
	}
	return Schedule(s, p, past)
}

// Schedule decides one placement on a fleet, from what it remembers of its last run.
func Schedule(s *fleet.Snapshot, p *program.Program, past ledger.Ledger) *Result {
	incumbents := incumbentsOf(s, p.Key)
	t := &Trace{Snapshot: s, Program: p, scope: reachable(s, p.Key.Namespace, p.ClusterSets, incumbents)}
	basis := program.EvaluationInput{Snapshot: s, Scope: t.scope.readable(), Incumbents: incumbents, Held: t.scope.held}
	if problem, until, ok := p.LastOverrun(basis); ok {
		t.matched.ScoreReads.Until = until
		return t.failed(problem)
	}
	t.matched = filter.Predicates(s, p, basis.Scope, incumbents)
	if t.matched.FailsEverywhere != "" {
		return t.failedOverCost(basis, pluginPredicate+":"+t.matched.FailsEverywhere)
	}
	t.matched.In.InPlaceUnion(t.scope.held)
	t.tiered = filter.Tiers(p, &t.matched, t.matched.In, t.scope.held)
	if t.tiered.FailsEverywhere != "" {
		return t.failedOverCost(basis, pluginTier+":"+t.tiered.FailsEverywhere)
	}
	t.tolerated = filter.Taints(s, p, t.tiered.In, incumbents)
	passed := t.tolerated.In
	t.Ranking = selection.Choose(selection.Input{
		Input: score.Input{
			Snapshot: s, Key: p.Key, Candidates: passed.AppendTo(make([]fleet.ID, 0, passed.Count())), Incumbents: incumbents,
			RetainedOnly: t.retainedOnly(), Penalized: t.tolerated.Penalized,
		},
		Scope: t.scope.candidates, Tier: t.tiers(), Past: past,
	}, p)
	if len(p.Groups.Groups) > 0 {
		basis = t.groupBasis(incumbents)
		if problem, until, ok := p.LastOverrun(basis); ok {
			t.grouped.Until = until
			return t.failed(problem)
		}
	}
	assigned := group.Assign(group.Input{
		Snapshot: s, Strategy: p.Groups, Selected: t.Ranking.Chosen, Prior: s.Slices(p.Key), ScoreReads: &t.grouped,
		Evaluation: t.matched.Evaluation(),
	})
	if assigned.Failed != "" {
		return t.failedOverCost(basis, pluginGroup+":"+assigned.Failed)
	}
	return t.result(assigned)
}

// groupBasis is what the expressions of groups are evaluated on: the clusters that were chosen.
func (t *Trace) groupBasis(incumbents *bitset.BitSet) program.EvaluationInput {
	chosen := &bitset.BitSet{}
	for _, id := range t.Ranking.Chosen {
		chosen.Set(id)
	}
	return program.EvaluationInput{
		Snapshot: t.Snapshot, Groups: true, Spent: t.matched.Evaluation().Spent(),
		Scope: chosen, Incumbents: incumbents, Held: &bitset.BitSet{},
	}
}

// failed is the result of a run that an expression keeps from deciding. It may not once a score runs out.
func (t *Trace) failed(problem string) *Result {
	out := keepDecisions(t.Snapshot, t.Program.Key, problem)
	out.RecheckAt = t.recheckAt()
	return out
}

// failedOverCost is dead, and remembers it where expressions cost more than they may.
func (t *Trace) failedOverCost(basis program.EvaluationInput, problem string) *Result {
	out := t.failed(problem)
	if t.matched.Evaluation().Exceeded() {
		t.Program.RecordOverrun(basis, problem, out.RecheckAt)
	}
	return out
}

// tiers returns the tier of each candidate, or nil where there are none.
func (t *Trace) tiers() func(id fleet.ID, incumbent bool) int {
	if len(t.Program.Tiers) == 0 {
		return nil
	}
	return func(id fleet.ID, incumbent bool) int {
		tier, _ := t.tiered.TierOf(id, incumbent)
		return tier
	}
}

// result puts together what a run that decided has to say.
func (t *Trace) result(assigned group.Assignment) *Result {
	return &Result{
		Key:           t.Program.Key,
		Decided:       true,
		Groups:        assigned.Groups,
		Regrouped:     assigned.Regrouped,
		Fingerprint:   t.Program.Groups.Fingerprint,
		Selected:      len(t.Ranking.Chosen),
		Penalized:     t.penalizedCount(),
		Details:       t.details(),
		ByScore:       t.Program.ByScore,
		ScoreInterval: t.Program.ScoreEvery,
		Satisfied:     t.satisfied(),
		Misconfigured: misconfigured(t.scope.problem()),
		Held:          t.Held(allClusters),
		ScoresExpired: t.ScoresExpired(allClusters),
		Ledger:        t.Ranking.Ledger,
		RecheckAt:     t.recheckAt(),
		Trace:         t,
	}
}

// penalizedCount counts the selected clusters that would rather not be.
func (t *Trace) penalizedCount() int {
	count := 0
	for _, id := range t.Ranking.Chosen {
		if t.tolerated.Penalized.Test(id) {
			count++
		}
	}
	return count
}

// details returns what readers are shown of the selected clusters.
func (t *Trace) details() map[string]Detail {
	if !t.Program.ByScore && len(t.Program.Tiers) == 0 {
		return nil
	}
	out := make(map[string]Detail, len(t.Ranking.Chosen))
	for _, id := range t.Ranking.Chosen {
		out[t.Snapshot.Name(id)] = Detail{Tier: t.Tier(id), Score: t.Ranking.Score(id)}
	}
	return out
}

// keepDecisions leaves the decisions as they are, save for clusters that are gone or that no set bound to the namespace has
// any more: losing access is no mistake of the placement.
func keepDecisions(s *fleet.Snapshot, key fleet.Key, problem string) *Result {
	incumbents := incumbentsOf(s, key)
	reachable := reachable(s, key.Namespace, nil, incumbents)
	stay := incumbents.Intersection(reachable.candidates)
	out := &Result{
		Key:           key,
		Groups:        group.Keep(s, s.Slices(key), stay),
		Fingerprint:   fingerprint(s.Slices(key)),
		Selected:      int(stay.Count()),
		Satisfied:     undecided(),
		Misconfigured: misconfigured(cmp.Or(problem, "the placement cannot be read")),
		Trace:         &Trace{Snapshot: s, scope: reachable, kept: stay},
	}
	return out
}

// interrupted is the fingerprint of slices that do not agree on one. It is equal to no strategy's, so that the next
// decision finishes what was begun.
const interrupted = "interrupted"

// fingerprint returns the strategy that slices were filled under, or "" where none says.
func fingerprint(prior []fleet.Slice) string {
	found := ""
	for _, slice := range prior {
		if slice.Strategy != "" && found != "" && slice.Strategy != found {
			return interrupted
		}
		found = cmp.Or(slice.Strategy, found)
	}
	return found
}

// incumbentsOf returns the clusters that a placement has selected and that still exist.
func incumbentsOf(s *fleet.Snapshot, key fleet.Key) *bitset.BitSet {
	known := s.Incumbents(key)
	if known.Count() == 0 {
		return s.EmptySet()
	}
	out := known.BitSet()
	s.ClustersWith(fleet.TermExists).IntersectInto(out)
	return out
}

// retainedOnly returns the clusters that passed one of the stages only because they are selected already.
func (t *Trace) retainedOnly() *bitset.BitSet {
	if t.scope.held.None() && t.tolerated.RetainedOnly.None() && t.tiered.RetainedOnly.None() && len(t.matched.Held) == 0 {
		return t.Snapshot.EmptySet()
	}
	out := t.scope.held.Union(t.tolerated.RetainedOnly)
	out.InPlaceUnion(t.tiered.RetainedOnly)
	for id := range t.matched.Held {
		out.Set(id)
	}
	return out
}

// recheckAt returns the first instant at which a score that an expression asked for runs out, a toleration or a score of
// a candidate does, or the choice may change by itself.
func (t *Trace) recheckAt() time.Time {
	var out time.Time
	note := func(at time.Time) {
		if !at.IsZero() && (out.IsZero() || at.Before(out)) {
			out = at
		}
	}
	note(t.matched.ScoreReads.Until)
	note(t.tiered.ScoreReads.Until)
	note(t.grouped.Until)
	note(t.tolerated.Until)
	if t.Ranking != nil {
		note(t.Ranking.RecheckAt())
		for _, column := range t.Ranking.Columns {
			note(column.Until)
		}
	}
	return out
}

// allClusters is the sight of one who sees every cluster.
func allClusters(string) bool { return true }
