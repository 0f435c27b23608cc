package engine

import (
	"strings"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/verdict"
)

// scope is which clusters a placement may choose from, before it chooses.
type scope struct {
	// requested is spec.clusterSets; valid are the bound sets that exist, eligible those of them that are asked for.
	requested, valid, eligible []string
	// candidates are the clusters of the eligible sets that are not being deleted, and the held.
	candidates *bitset.BitSet
	// held are incumbents that stay since their set cannot be read.
	held *bitset.BitSet
	// unreadable are the eligible sets that cannot be read.
	unreadable []*fleet.Set
}

// reachable works out the scope. Incumbents that no readable set has are held while one of the sets is broken: they may
// be members of it.
func reachable(s *fleet.Snapshot, namespace string, asked []string, incumbents *bitset.BitSet) scope {
	bound, named := s.BoundSets(namespace), fleet.SetNameFilter(asked)
	names := make([]string, 2*len(bound))
	out := scope{
		requested: asked, valid: names[:0:len(bound)], eligible: names[len(bound):len(bound)],
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

// readable returns the candidates that are members of a set that can be read. They are read-only.
func (s scope) readable() *bitset.BitSet {
	if s.held.None() {
		return s.candidates
	}
	return s.candidates.Difference(s.held)
}

// problem says what is wrong with the sets; empty where nothing is.
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
