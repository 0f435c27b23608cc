package engine

import (
	"cmp"
	"time"

	"github.com/bits-and-blooms/bitset"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/internal/filter"
	"github.com/berth-project/berth/engine/internal/group"
	"github.com/berth-project/berth/engine/internal/score"
	"github.com/berth-project/berth/engine/internal/selection"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/program"
)

// Decide decides a placement on a fleet: it schedules the program or, if the placement has faults, an edit that is held or one
// that refers to nothing, keeps the previous decisions.
func Decide(s *fleet.Snapshot, key fleet.Key, p *program.Program, faults field.ErrorList, past ledger.Ledger) *Result {
	if p == nil || len(faults) > 0 {
		return keepDecisions(s, key, faultMessage(faults))
	}
	return holdEmptyingEdit(reportReferences(Schedule(s, p, past), past), past)
}

// Schedule decides one placement on a fleet. past is the ledger of its last decision.
func Schedule(s *fleet.Snapshot, p *program.Program, past ledger.Ledger) *Result {
	incumbents := incumbentsOf(s, p.Key)
	t := &Trace{
		Snapshot: s, Program: p, standing: s.EmptySet(), retained: s.EmptySet(),
		hold:  filter.MissingHold{Snapshot: s, Incumbents: incumbents, Past: past},
		scope: reachable(s, p.Key.Namespace, p.ClusterSets, incumbents),
	}
	basis := program.EvaluationInput{Snapshot: s, Scope: t.scope.readable(), Incumbents: incumbents, Held: t.scope.held}
	if problem, until, ok := p.LastOverrun(basis); ok {
		t.matched.ScoreReads.Until = until
		return t.failed(problem)
	}
	t.matched = filter.Predicates(p, basis.Scope, t.hold)
	if t.matched.FailsEverywhere != "" {
		return t.failedEverywhere(basis, pluginPredicate+":"+t.matched.FailsEverywhere)
	}
	t.findStanding(incumbents)
	if past.SameSpec {
		t.retain(incumbents)
	}
	kept := t.scope.held
	if t.standing.Any() || t.retained.Any() {
		kept = kept.Union(t.standing).Union(t.retained)
	}
	t.matched.In.InPlaceUnion(kept)
	t.tiered = filter.Tiers(p, &t.matched, t.matched.In, kept)
	if t.tiered.FailsEverywhere != "" {
		return t.failedEverywhere(basis, pluginTier+":"+t.tiered.FailsEverywhere)
	}
	t.tolerated = filter.Taints(s, p, t.tiered.In, incumbents)
	passed := t.tolerated.In
	t.Ranking = selection.Choose(selection.Input{
		Input: score.Input{
			Snapshot: s, Key: p.Key, Candidates: passed.AppendTo(make([]fleet.ID, 0, passed.Count())), Incumbents: incumbents,
			RetainedOnly: t.retainedOnly(), Penalized: t.tolerated.Penalized,
		},
		Scope: t.scope.candidates, Tier: t.tiers(), Past: past, Retained: t.placesKept(incumbents),
	}, p)
	if byRank := t.Ranking.Retained(); byRank.Any() {
		t.retained = t.retained.Union(byRank)
	}
	if len(p.Groups.Groups) > 0 {
		basis = t.groupBasis(incumbents)
		if problem, until, ok := p.LastOverrun(basis); ok {
			t.grouped.Until = until
			return t.failed(problem)
		}
	}
	assigned := group.Assign(group.Input{
		Snapshot: s, Strategy: p.Groups, Selected: t.Ranking.Chosen, Prior: s.Slices(p.Key), ScoreReads: &t.grouped,
		Evaluation: t.matched.Evaluation(), Retained: t.groupsKept(incumbents),
	})
	if assigned.Failed != "" {
		return t.failedOverCost(basis, pluginGroup+":"+assigned.Failed)
	}
	t.inGroups = assigned.Retained
	return t.result(assigned)
}

// groupBasis is what the expressions of groups are evaluated on: the selected clusters.
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

// failed is the result of a run with an expression that fails everywhere. It may change when a score expires.
func (t *Trace) failed(problem string) *Result {
	out := keepDecisions(t.Snapshot, t.Program.Key, problem)
	if at := t.recheckAt(); !at.IsZero() && (out.RecheckAt.IsZero() || at.Before(out.RecheckAt)) {
		out.RecheckAt = at
	}
	return out
}

// failedOverCost is failed, and keeps the result in the program if the expressions exceeded their cost limit.
func (t *Trace) failedOverCost(basis program.EvaluationInput, problem string) *Result {
	out := t.failed(problem)
	if t.matched.Evaluation().Exceeded() {
		t.Program.RecordOverrun(basis, problem, out.RecheckAt)
	}
	return out
}

// failedEverywhere is failedOverCost for predicates and tiers: the selected clusters are held on which a claim or score is missing.
func (t *Trace) failedEverywhere(basis program.EvaluationInput, problem string) *Result {
	out := t.failedOverCost(basis, problem)
	if !t.matched.Evaluation().Exceeded() {
		out.Failing, out.ExpressionHeld = t.failingNames(), t.failsEverywhere(out.Trace.kept)
	}
	return out
}

// tiers returns the tier of each candidate, or nil without tiers.
func (t *Trace) tiers() func(id fleet.ID, incumbent bool) int {
	if len(t.Program.Tiers) == 0 {
		return nil
	}
	return func(id fleet.ID, incumbent bool) int {
		tier, _ := t.tiered.TierOf(id, incumbent)
		return tier
	}
}

// result returns the result of a run that decided.
func (t *Trace) result(assigned group.Assignment) *Result {
	return &Result{
		Key:            t.Program.Key,
		Decided:        true,
		Groups:         assigned.Groups,
		Regrouped:      assigned.Regrouped,
		Fingerprint:    t.Program.Groups.Fingerprint,
		Selected:       len(t.Ranking.Chosen),
		Penalized:      t.penalizedCount(),
		Details:        t.details(),
		ByScore:        t.Program.ByScore,
		ScoreInterval:  t.Program.ScoreEvery,
		Satisfied:      t.satisfied(),
		Misconfigured:  misconfigured(t.scope.problem()),
		Held:           t.Held(allClusters),
		ScoresExpired:  t.ScoresExpired(allClusters),
		SpreadExceeded: t.spreadExceeded(),
		ExpressionHeld: t.expressionHeld(),
		Failing:        t.failingNames(),
		Ledger:         t.Ranking.Ledger,
		RecheckAt:      t.recheckAt(),
		Retained:       t.retainedNames(),
		Trace:          t,
	}
}

// penalizedCount counts the selected clusters with a PreferNoSelect taint that is not tolerated.
func (t *Trace) penalizedCount() int {
	count := 0
	for _, id := range t.Ranking.Chosen {
		if t.tolerated.Penalized.Test(id) {
			count++
		}
	}
	return count
}

// details returns what readers see of the selected clusters.
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

// keepDecisions keeps the decisions, except for clusters that are gone or in no set bound to the namespace. Losing access is no
// mistake of the placement.
func keepDecisions(s *fleet.Snapshot, key fleet.Key, problem string) *Result {
	incumbents := incumbentsOf(s, key)
	reachable := reachable(s, key.Namespace, nil, incumbents)
	stay := incumbents.Intersection(reachable.candidates)
	retained := s.Retained(incumbents.Difference(stay))
	if retained != nil {
		stay.InPlaceUnion(retained)
	}
	t := &Trace{Snapshot: s, scope: reachable, kept: stay}
	out := &Result{
		Key:           key,
		Groups:        group.Keep(s, s.Slices(key), stay),
		Fingerprint:   fingerprint(s.Slices(key)),
		Selected:      int(stay.Count()),
		Satisfied:     undecided(),
		Misconfigured: misconfigured(cmp.Or(problem, "the placement cannot be read")),
		Trace:         t,
	}
	if retained != nil && retained.Any() {
		out.RecheckAt, out.Retained = s.Retention.Until, t.names(retained)
	}
	return out
}

// interrupted is the fingerprint of slices with different fingerprints. It equals no strategy's, so the next decision completes
// the change of strategy.
const interrupted = "interrupted"

// fingerprint returns the group strategy of slices, or "" if none has one.
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

// incumbentsOf returns the existing clusters that a placement has selected.
func incumbentsOf(s *fleet.Snapshot, key fleet.Key) *bitset.BitSet {
	known := s.Incumbents(key)
	if known.Count() == 0 {
		return s.EmptySet()
	}
	out := known.BitSet()
	s.ClustersWith(fleet.TermExists).IntersectInto(out)
	return out
}

// retainedOnly returns the clusters that passed a stage only as incumbents.
func (t *Trace) retainedOnly() *bitset.BitSet {
	if t.scope.held.None() && t.scope.leaving.None() && t.standing.None() && t.retained.None() &&
		t.tolerated.RetainedOnly.None() && t.tiered.RetainedOnly.None() && len(t.matched.Held) == 0 {
		return t.Snapshot.EmptySet()
	}
	out := t.scope.held.Union(t.tolerated.RetainedOnly)
	out.InPlaceUnion(t.scope.leaving)
	out.InPlaceUnion(t.standing)
	out.InPlaceUnion(t.retained)
	out.InPlaceUnion(t.tiered.RetainedOnly)
	for id := range t.matched.Held {
		out.Set(id)
	}
	return out
}

// recheckAt returns the first instant at which a score or a toleration expires, or the choice changes by itself.
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
		note(t.failingUntil(t.heldByExpression()))
	}
	if t.retained.Any() || len(t.inGroups) > 0 {
		note(t.Snapshot.Retention.Until)
	}
	if t.Ranking != nil {
		note(t.Ranking.RecheckAt())
		for _, column := range t.Ranking.Columns {
			note(column.Until)
		}
	}
	return out
}

// allClusters lets a reader see every cluster.
func allClusters(string) bool { return true }
