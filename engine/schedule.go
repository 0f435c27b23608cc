package engine

import (
	"cmp"
	"slices"
	"strings"
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

// Schedule decides one placement on a fleet, from what it remembers of its last run.
func Schedule(s *fleet.Snapshot, p *program.Program, _ ledger.Ledger) *Result {
	if len(p.Unsupported) > 0 {
		return keep(s, p.Key, strings.Join(p.Unsupported, ", ")+": not supported yet")
	}
	incumbents := seats(s, p.Key)
	scope := reach(s, p.Key.Namespace, p.ClusterSets, incumbents)
	matched := filter.Predicates(s, p, scope.candidates.Difference(scope.held), incumbents)
	if matched.Dead != "" {
		out := keep(s, p.Key, pluginPredicate+":"+matched.Dead)
		out.LookAgain = matched.Asked.Until
		return out
	}
	matched.In.InPlaceUnion(scope.held)
	passed := matched.In.Clone()
	tolerated := filter.Taints(s, p, passed, incumbents)
	ranking := selection.Choose(score.Input{
		Snapshot: s, Key: p.Key, Candidates: passed.AppendTo(nil), Incumbents: incumbents,
		Guests: guests(scope, matched, tolerated), Demoted: tolerated.Demoted,
	}, p)
	groups := group.Assign(group.Input{
		Snapshot: s, Strategy: p.Groups, Selected: ranking.Selected(), Prior: s.Slices(p.Key),
	})
	trace := &Trace{Snapshot: s, Program: p, Ranking: ranking, scope: scope, matched: matched, tolerated: tolerated}
	return &Result{
		Key:           p.Key,
		Decided:       true,
		Groups:        groups,
		Fingerprint:   p.Groups.Fingerprint,
		Selected:      len(ranking.Chosen),
		Satisfied:     satisfied(p, scope, refused(scope, matched, tolerated), len(ranking.Chosen)),
		Misconfigured: misconfigured(scope.fault()),
		LookAgain:     lookAgain(matched, tolerated, ranking),
		Trace:         trace,
	}
}

// Keep is the result for a placement that does not compile: what was decided before stays.
func Keep(s *fleet.Snapshot, key fleet.Key, faults field.ErrorList) *Result {
	return keep(s, key, describe(faults))
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
	out := &bitset.BitSet{}
	exists := s.Holding(fleet.TermExists)
	for _, id := range s.Incumbents(key) {
		if exists.Test(id) {
			out.Set(id)
		}
	}
	return out
}

// guests returns the clusters that passed one of the stages only because they are selected already.
func guests(s scope, matched filter.Matched, tolerated filter.Tolerated) *bitset.BitSet {
	out := s.held.Union(tolerated.Guests)
	for id := range matched.Held {
		out.Set(id)
	}
	return out
}

// refused counts the clusters that fell to a taint and match a predicate by more than being selected, so that the
// count is the same once they are not.
func refused(s scope, matched filter.Matched, tolerated filter.Tolerated) int {
	count := 0
	for id := range tolerated.Fell {
		if _, held := matched.Held[id]; !held && !s.held.Test(id) {
			count++
		}
	}
	return count
}

// lookAgain returns the first instant at which a toleration or a score of a candidate runs out, or a score that an
// expression asked for.
func lookAgain(matched filter.Matched, tolerated filter.Tolerated, ranking *selection.Ranking) time.Time {
	instants := []time.Time{matched.Asked.Until, tolerated.Until}
	for _, column := range ranking.Columns {
		instants = append(instants, column.Until)
	}
	instants = slices.DeleteFunc(instants, time.Time.IsZero)
	if len(instants) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(instants, time.Time.Compare)
}
