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
	// unreadable are the eligible sets with an invalid selector.
	unreadable []*fleet.Set
}

// reachable returns the scope. While a set is unreadable, incumbents in no readable set are held: they may be members of it.
func reachable(s *fleet.Snapshot, namespace string, clusterSets []string, incumbents *bitset.BitSet) scope {
	bound, named := s.BoundSets(namespace), fleet.SetNameFilter(clusterSets)
	names := make([]string, 2*len(bound))
	out := scope{
		requested: clusterSets, valid: names[:0:len(bound)], eligible: names[len(bound):len(bound)],
		candidates: bitset.New(s.IDLimit()), held: s.EmptySet(),
	}
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
		if set.Valid() {
			set.AddMembers(s, out.candidates)
		} else {
			out.unreadable = append(out.unreadable, set)
		}
	}
	if len(out.unreadable) > 0 {
		out.held = incumbents.Difference(out.candidates)
		s.ClustersWith(fleet.TermExists).IntersectInto(out.held)
		out.candidates.InPlaceUnion(out.held)
	}
	leaving := s.ClustersWith(fleet.TermTerminating)
	leaving.RemoveFrom(out.candidates)
	if out.held.Any() {
		leaving.RemoveFrom(out.held)
	}
	return out
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
func (s scope) verdict(c *fleet.Cluster) verdict.Verdict {
	if c.Terminating() {
		return verdict.Verdict{Code: verdict.Terminating}
	}
	return verdict.Verdict{Code: verdict.OutsideSets}
}
