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
		return keep(s, key, describe(faults))
	}
	return Schedule(s, p, past)
}

// Schedule decides one placement on a fleet, from what it remembers of its last run.
func Schedule(s *fleet.Snapshot, p *program.Program, past ledger.Ledger) *Result {
	incumbents := seats(s, p.Key)
	t := &Trace{Snapshot: s, Program: p, scope: reach(s, p.Key.Namespace, p.ClusterSets, incumbents)}
	basis := program.Basis{Snapshot: s, Scope: t.scope.readable(), Incumbents: incumbents, Held: t.scope.held}
	if problem, until, ok := p.Overran(basis); ok {
		t.matched.Asked.Until = until
		return t.dead(problem)
	}
	t.matched = filter.Predicates(s, p, basis.Scope, incumbents)
	if t.matched.Dead != "" {
		return t.exceeded(basis, pluginPredicate+":"+t.matched.Dead)
	}
	t.matched.In.InPlaceUnion(t.scope.held)
	t.tiered = filter.Tiers(p, &t.matched, t.matched.In, t.scope.held)
	if t.tiered.Dead != "" {
		return t.exceeded(basis, pluginTier+":"+t.tiered.Dead)
	}
	t.tolerated = filter.Taints(s, p, t.tiered.In, incumbents)
	passed := t.tolerated.In
	t.Ranking = selection.Choose(selection.Input{
		Input: score.Input{
			Snapshot: s, Key: p.Key, Candidates: passed.AppendTo(make([]fleet.ID, 0, passed.Count())), Incumbents: incumbents,
			Guests: t.guests(), Demoted: t.tolerated.Demoted,
		},
		Scope: t.scope.candidates, Tier: t.tiers(), Past: past,
	}, p)
	if len(p.Groups.Groups) > 0 {
		basis = t.groupBasis(incumbents)
		if problem, until, ok := p.Overran(basis); ok {
			t.grouped.Until = until
			return t.dead(problem)
		}
	}
	assigned := group.Assign(group.Input{
		Snapshot: s, Strategy: p.Groups, Selected: t.Ranking.Chosen, Prior: s.Slices(p.Key), Asked: &t.grouped,
		Evaluation: t.matched.Evaluation(),
	})
	if assigned.Failed != "" {
		return t.exceeded(basis, pluginGroup+":"+assigned.Failed)
	}
	return t.result(assigned)
}

// groupBasis is what the expressions of groups are evaluated on: the clusters that were chosen.
func (t *Trace) groupBasis(incumbents *bitset.BitSet) program.Basis {
	chosen := &bitset.BitSet{}
	for _, id := range t.Ranking.Chosen {
		chosen.Set(id)
	}
	return program.Basis{
		Snapshot: t.Snapshot, Groups: true, Spent: t.matched.Evaluation().Spent(),
		Scope: chosen, Incumbents: incumbents, Held: &bitset.BitSet{},
	}
}

// dead is the result of a run that an expression keeps from deciding. It may not once a score runs out.
func (t *Trace) dead(problem string) *Result {
	out := keep(t.Snapshot, t.Program.Key, problem)
	out.LookAgain = t.lookAgain()
	return out
}

// exceeded is dead, and remembers it where expressions cost more than they may.
func (t *Trace) exceeded(basis program.Basis, problem string) *Result {
	out := t.dead(problem)
	if t.matched.Evaluation().Exceeded() {
		t.Program.Overrun(basis, problem, out.LookAgain)
	}
	return out
}

// tiers returns the tier of each candidate, or nil where there are none.
func (t *Trace) tiers() func(id fleet.ID, incumbent bool) int {
	if len(t.Program.Tiers) == 0 {
		return nil
	}
	return func(id fleet.ID, incumbent bool) int {
		tier, _ := t.tiered.Of(id, incumbent)
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
		Reluctant:     t.reluctant(),
		Shown:         t.shown(),
		ByScore:       t.Program.ByScore,
		ScoreEvery:    t.Program.ScoreEvery,
		Satisfied:     t.satisfied(),
		Misconfigured: misconfigured(t.scope.fault()),
		Held:          t.Held(everybody),
		ScoresExpired: t.scoresExpired(),
		Ledger:        t.Ranking.Ledger,
		LookAgain:     t.lookAgain(),
		Trace:         t,
	}
}

// reluctant counts the selected clusters that would rather not be.
func (t *Trace) reluctant() int {
	count := 0
	for _, id := range t.Ranking.Chosen {
		if t.tolerated.Demoted.Test(id) {
			count++
		}
	}
	return count
}

// shown returns what readers are shown of the selected clusters.
func (t *Trace) shown() map[string]Shown {
	if !t.Program.ByScore && len(t.Program.Tiers) == 0 {
		return nil
	}
	out := make(map[string]Shown, len(t.Ranking.Chosen))
	for _, id := range t.Ranking.Chosen {
		out[t.Snapshot.Name(id)] = Shown{Tier: t.Tier(id), Score: t.Ranking.Score(id)}
	}
	return out
}

// keep leaves the decisions as they are, save for clusters that are gone or that no set bound to the namespace has
// any more: losing access is no mistake of the placement.
func keep(s *fleet.Snapshot, key fleet.Key, problem string) *Result {
	incumbents := seats(s, key)
	reachable := reach(s, key.Namespace, nil, incumbents)
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

// seats returns the clusters that a placement has selected and that still exist.
func seats(s *fleet.Snapshot, key fleet.Key) *bitset.BitSet {
	known := s.Incumbents(key)
	if known.Count() == 0 {
		return s.Nobody()
	}
	out := known.Bits()
	s.Holding(fleet.TermExists).KeepIn(out)
	return out
}

// guests returns the clusters that passed one of the stages only because they are selected already.
func (t *Trace) guests() *bitset.BitSet {
	if t.scope.held.None() && t.tolerated.Guests.None() && t.tiered.Guests.None() && len(t.matched.Held) == 0 {
		return t.Snapshot.Nobody()
	}
	out := t.scope.held.Union(t.tolerated.Guests)
	out.InPlaceUnion(t.tiered.Guests)
	for id := range t.matched.Held {
		out.Set(id)
	}
	return out
}

// lookAgain returns the first instant at which a score that an expression asked for runs out, a toleration or a score of
// a candidate does, or the choice may change by itself.
func (t *Trace) lookAgain() time.Time {
	var out time.Time
	note := func(at time.Time) {
		if !at.IsZero() && (out.IsZero() || at.Before(out)) {
			out = at
		}
	}
	note(t.matched.Asked.Until)
	note(t.tiered.Asked.Until)
	note(t.grouped.Until)
	note(t.tolerated.Until)
	if t.Ranking != nil {
		note(t.Ranking.LookAgain())
		for _, column := range t.Ranking.Columns {
			note(column.Until)
		}
	}
	return out
}

// everybody is the sight of one who sees every cluster.
func everybody(string) bool { return true }
