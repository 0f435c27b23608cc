package engine

import (
	"strings"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/verdict"
)

// scope has the clusters that a placement may choose from.
type scope struct {
	// requested is spec.clusterSets. valid are the bound sets that exist. eligible are the requested sets among them.
	requested, valid, eligible []string
	// candidates are the clusters of the eligible sets that are not being deleted, and the held ones.
	candidates *bitset.BitSet
	// held are incumbents that stay because their set is unreadable.
	held *bitset.BitSet
	// leaving are candidates only because they are incumbents: a set, a binding, a label or a claim by which they were chosen is being
	// withdrawn. barred are the clusters that such a withdrawal keeps from being chosen.
	leaving, barred *bitset.BitSet
	// unreadable are the eligible sets with an invalid selector.
	unreadable []*fleet.Set
}

// reachable returns the scope. While a set is unreadable, incumbents in no readable set are held: they may be members of it.
func reachable(s *fleet.Snapshot, namespace string, clusterSets []string, incumbents *bitset.BitSet) scope {
	bound, named := s.BoundSets(namespace), fleet.SetNameFilter(clusterSets)
	names := make([]string, 2*len(bound))
	out := scope{
		requested: clusterSets, valid: names[:0:len(bound)], eligible: names[len(bound):len(bound)],
		candidates: bitset.New(s.IDLimit()), held: s.EmptySet(), leaving: s.EmptySet(), barred: s.EmptySet(),
	}
	var withdrawn *bitset.BitSet // the members of sets that are being withdrawn; nil for none
	for _, name := range bound {
		set, exists := s.Set(name)
		if !exists {
			continue
		}
		out.valid = append(out.valid, name)
		if !named(name) {
			continue
		}
		out.eligible = append(out.eligible, name)
		switch {
		case !set.Valid():
			out.unreadable = append(out.unreadable, set)
		case s.Withdrawing(namespace, name):
			if withdrawn == nil {
				withdrawn = &bitset.BitSet{}
			}
			set.AddMembers(s, withdrawn)
		default:
			set.AddMembers(s, out.candidates)
		}
	}
	out.withdraw(s, withdrawn, incumbents)
	if len(out.unreadable) > 0 {
		out.held = incumbents.Difference(out.candidates)
		s.ClustersWith(fleet.TermExists).IntersectInto(out.held)
		out.candidates.InPlaceUnion(out.held)
	}
	terminating := s.ClustersWith(fleet.TermTerminating)
	terminating.RemoveFrom(out.candidates)
	if out.held.Any() {
		terminating.RemoveFrom(out.held)
	}
	return out
}

// withdraw bars newcomers that a withdrawal concerns: the members of sets that are being withdrawn, and of no other set, and the clusters
// with a label or claim that is being withdrawn.
func (s *scope) withdraw(snapshot *fleet.Snapshot, members, incumbents *bitset.BitSet) {
	moving := snapshot.ClustersWith(fleet.TermWithdrawing)
	if members == nil && moving.Count() == 0 {
		return
	}
	concerned := s.candidates.Clone()
	moving.IntersectInto(concerned)
	if members != nil {
		concerned.InPlaceUnion(members.Difference(s.candidates))
	}
	s.leaving, s.barred = concerned.Intersection(incumbents), concerned.Difference(incumbents)
	s.candidates = s.candidates.Difference(s.barred).Union(s.leaving)
}

// readable returns the candidates that are members of a readable set. They are read-only.
func (s scope) readable() *bitset.BitSet {
	if s.held.None() {
		return s.candidates
	}
	return s.candidates.Difference(s.held)
}

// problem returns the faults of the sets; empty without faults.
func (s scope) problem() string {
	var out []string
	for _, set := range s.unreadable {
		out = append(out, "ManagedClusterSet:"+set.Name+": "+set.Errors.ToAggregate().Error())
	}
	return strings.Join(out, "; ")
}

// verdict returns the verdict on a cluster that is not a candidate.
func (s scope) verdict(id fleet.ID, c *fleet.Cluster) verdict.Verdict {
	if c.Terminating() {
		return verdict.Verdict{Code: verdict.Terminating}
	}
	if s.barred.Test(id) {
		return verdict.Verdict{Code: verdict.Withdrawing}
	}
	return verdict.Verdict{Code: verdict.OutsideSets}
}
