package wake

import (
	"encoding/binary"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// indexedSet is a ManagedClusterSet with its selector as facts.
type indexedSet struct {
	id       uint64
	set      *fleet.Set
	selector conjunction
	// empty is set if the set has no members, or is invalid.
	empty bool
	// scopes are the scopes that contain the set.
	scopes map[*scope]struct{}
}

// membership returns when the changing cluster is a member, whether it is being deleted or not.
func (i *indexedSet) membership() transition {
	if i.empty {
		return never
	}
	return i.selector.holds()
}

// scope is the sets that placements may choose from. Placements with the same sets share it.
type scope struct {
	// changeSeq is the last change that was evaluated. membership and reachability are when its cluster is in one of
	// sets and of reachable; atMostOne is valid once counted.
	changeSeq                uint64
	membership, reachability transition
	atMostOne, counted       bool
	// hasInvalidSet is set if a set is invalid, so that its members are unknown.
	hasInvalidSet bool

	id  uint64
	key string
	// sets are the sets that the placements may choose from.
	sets []*indexedSet
	// reachable are all bound sets, for placements that may have to keep their decisions: they keep every cluster that
	// the namespace can reach. Nil for others.
	reachable     []*indexedSet
	subscriptions bucket
}

// scopeOf returns the scope of placements of a namespace that name these sets, or none. With keep, the scope also holds
// every set that the namespace can reach.
func (i *Index) scopeOf(s *fleet.Snapshot, namespace string, names []string, keep bool) *scope {
	var out scope
	isNamed := fleet.SetNameFilter(names)
	for _, name := range s.BoundSets(namespace) {
		set, exists := s.Set(name)
		chosen := isNamed(name)
		if !exists || !chosen && !keep {
			continue
		}
		found := i.setOf(set)
		if chosen {
			out.sets = append(out.sets, found)
		}
		if keep {
			out.reachable = append(out.reachable, found)
		}
		out.hasInvalidSet = out.hasInvalidSet || !set.Valid()
	}
	key := i.buffer[:0]
	for _, sets := range [][]*indexedSet{out.sets, out.reachable} {
		key = binary.AppendUvarint(key, uint64(len(sets)))
		for _, set := range sets {
			key = binary.AppendUvarint(key, set.id)
		}
	}
	i.buffer = key
	known := i.scopes[string(key)]
	if known == nil {
		known = &out
		known.id, known.key = i.facts.nextID(), string(key)
		i.scopes[known.key] = known
		for _, a := range known.allSets() {
			a.scopes[known] = struct{}{}
		}
	}
	return known
}

func (i *Index) setOf(set *fleet.Set) *indexedSet {
	known := i.sets[set]
	if known == nil {
		known = &indexedSet{id: i.facts.nextID(), set: set, empty: true, scopes: map[*scope]struct{}{}}
		if selector, ok := set.Selector(); ok {
			known.selector, known.empty = i.facts.conjunction(selector), false
		}
		i.sets[set] = known
		for _, l := range known.selector {
			l.sets++
			l.refs++
		}
	}
	return known
}

// dropScope deletes a scope, and the sets that no other scope contains.
func (i *Index) dropScope(s *scope) {
	delete(i.scopes, s.key)
	for _, a := range s.allSets() {
		if delete(a.scopes, s); len(a.scopes) > 0 || i.sets[a.set] == nil {
			continue
		}
		delete(i.sets, a.set)
		for _, l := range a.selector {
			l.sets--
			i.facts.release(l.fact)
		}
	}
}

// allSets returns sets and reachable. A set may occur twice.
func (s *scope) allSets() []*indexedSet { return slices.Concat(s.sets, s.reachable) }

// evaluate computes membership and reachability for a change, once.
func (s *scope) evaluate(c *clusterChange) {
	if s.changeSeq != c.changeSeq {
		s.changeSeq, s.counted = c.changeSeq, false
		s.membership, s.reachability = anyMember(s.sets, c), anyMember(s.reachable, c)
	}
}

// anyMember returns when one of the sets contains the cluster and the cluster is not being deleted.
func anyMember(sets []*indexedSet, c *clusterChange) transition {
	out := never
	for _, set := range sets {
		out |= set.membership()
	}
	return out & c.present
}

// readsChange reports whether the sets read a part of the cluster that changes.
func (s *scope) readsChange() bool {
	return slices.ContainsFunc(s.allSets(), func(a *indexedSet) bool { return a.selector.readsChange() })
}

// atMostOneCandidate reports whether the sets have at most one cluster. The change may then have added the first
// candidate or removed the last, and the reason of the condition changes.
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
