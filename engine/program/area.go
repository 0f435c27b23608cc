package program

import (
	"encoding/binary"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// indexedSet is a set of clusters in terms of facts.
type indexedSet struct {
	id       uint64
	set      *fleet.Set
	selector conjunction
	// empty is set where nobody is a member, or nobody can tell.
	empty bool
	// scopes are those that have it.
	scopes map[*scope]struct{}
}

// membership says when a changing cluster is a member, being deleted or not.
func (a *indexedSet) membership() transition {
	if a.empty {
		return never
	}
	return a.selector.holds()
}

// scope is what placements may choose from. Those whose bound sets come to the same share it.
type scope struct {
	// changeSeq is the last change that was looked at. member and reached are when its cluster is in one of the sets, and in
	// one of the reachable ones; few is whether the sets have few candidates, once that is counted.
	changeSeq                uint64
	membership, reachability transition
	atMostOne, counted       bool
	// hasInvalidSet is set where one of the sets cannot be read, so that nobody can tell who is a member.
	hasInvalidSet bool

	id  uint64
	key string
	// sets are those that the placements may choose from.
	sets []*indexedSet
	// reachable are all bound sets, where the placements may have to keep what they have: they keep any cluster that the
	// namespace can reach. Nil elsewhere.
	reachable     []*indexedSet
	subscriptions bucket
}

// scopeOf returns what the placements of a namespace may choose from that ask for some of its sets, or for none in
// particular, and, where they keep, what they may keep.
func (x *Index) scopeOf(s *fleet.Snapshot, namespace string, asked []string, keep bool) *scope {
	var out scope
	named := fleet.SetNameFilter(asked)
	for _, name := range s.BoundSets(namespace) {
		set, exists := s.Set(name)
		chosen := named(name)
		if !exists || !chosen && !keep {
			continue
		}
		found := x.setOf(set)
		if chosen {
			out.sets = append(out.sets, found)
		}
		if keep {
			out.reachable = append(out.reachable, found)
		}
		out.hasInvalidSet = out.hasInvalidSet || !set.Valid()
	}
	text := x.buffer[:0]
	for _, areas := range [][]*indexedSet{out.sets, out.reachable} {
		text = binary.AppendUvarint(text, uint64(len(areas)))
		for _, a := range areas {
			text = binary.AppendUvarint(text, a.id)
		}
	}
	x.buffer = text
	known := x.scopes[string(text)]
	if known == nil {
		known = &out
		known.id, known.key = x.facts.nextID(), string(text)
		x.scopes[known.key] = known
		for _, a := range known.allSets() {
			a.scopes[known] = struct{}{}
		}
	}
	return known
}

func (x *Index) setOf(set *fleet.Set) *indexedSet {
	known := x.sets[set]
	if known == nil {
		known = &indexedSet{id: x.facts.nextID(), set: set, empty: true, scopes: map[*scope]struct{}{}}
		if selector, ok := set.Selector(); ok {
			known.selector, known.empty = x.facts.conjunction(selector), false
		}
		x.sets[set] = known
		for _, l := range known.selector {
			l.sets++
			l.refs++
		}
	}
	return known
}

// dropScope forgets a scope, and areas that no other has.
func (x *Index) dropScope(s *scope) {
	delete(x.scopes, s.key)
	for _, a := range s.allSets() {
		if delete(a.scopes, s); len(a.scopes) > 0 || x.sets[a.set] == nil {
			continue
		}
		delete(x.sets, a.set)
		for _, l := range a.selector {
			l.sets--
			x.facts.release(l.fact)
		}
	}
}

// allSets returns all that the scope has, some of them twice.
func (s *scope) allSets() []*indexedSet { return slices.Concat(s.sets, s.reachable) }

// evaluate works out when a changing cluster is a member.
func (s *scope) evaluate(c *clusterChange) {
	if s.changeSeq != c.changeSeq {
		s.changeSeq, s.counted = c.changeSeq, false
		s.membership, s.reachability = among(s.sets, c), among(s.reachable, c)
	}
}

// among says when one of the areas has a cluster that is not being deleted.
func among(areas []*indexedSet, c *clusterChange) transition {
	out := never
	for _, a := range areas {
		out |= a.membership()
	}
	return out & c.present
}

// readsChange says whether the sets read something that changes of a cluster.
func (s *scope) readsChange() bool {
	return slices.ContainsFunc(s.allSets(), func(a *indexedSet) bool { return a.selector.readsChange() })
}

// atMostOneCandidate says whether the sets have at most one cluster, so that a change may have made the first or taken
// the last: a placement tells its user which it is, nobody to choose from or nobody who matches.
func (s *scope) atMostOneCandidate(of *fleet.Snapshot) bool {
	if !s.counted {
		candidates := &bitset.BitSet{}
		for _, a := range s.sets {
			a.set.AddMembers(of, candidates)
		}
		of.ClustersWith(fleet.TermTerminating).RemoveFrom(candidates)
		s.atMostOne, s.counted = candidates.Count() <= 1, true
	}
	return s.atMostOne
}
