package program

import (
	"encoding/binary"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// area is a set of clusters in terms of facts.
type area struct {
	number  uint64
	set     *fleet.Set
	members conjunction
	// empty is set where nobody is a member, or nobody can tell.
	empty bool
	// scopes are those that have it.
	scopes map[*scope]struct{}
}

// holds says when a changing cluster is a member, being deleted or not.
func (a *area) holds() times {
	if a.empty {
		return never
	}
	return a.members.holds()
}

// scope is what placements may choose from. Those whose bound sets come to the same share it.
type scope struct {
	// turn is the last change that was looked at. member and reached are when its cluster is in one of the sets, and in
	// one of the reachable ones; few is whether the sets have few candidates, once that is counted.
	turn            uint64
	member, reached times
	few, counted    bool
	// broken is set where one of the sets cannot be read, so that nobody can tell who is a member.
	broken bool

	number uint64
	text   string
	// sets are those that the placements may choose from.
	sets []*area
	// reachable are all bound sets, where the placements may have to keep what they have: they keep any cluster that the
	// namespace can reach. Nil elsewhere.
	reachable []*area
	readers   shelf
}

// scope returns what the placements of a namespace may choose from that ask for some of its sets, or for none in
// particular, and, where they keep, what they may keep.
func (x *Index) scope(s *fleet.Snapshot, namespace string, asked []string, keep bool) *scope {
	var out scope
	named := fleet.Naming(asked)
	for _, name := range s.Bound(namespace) {
		set, exists := s.Set(name)
		chosen := named(name)
		if !exists || !chosen && !keep {
			continue
		}
		found := x.area(set)
		if chosen {
			out.sets = append(out.sets, found)
		}
		if keep {
			out.reachable = append(out.reachable, found)
		}
		out.broken = out.broken || !set.Good()
	}
	text := x.text[:0]
	for _, areas := range [][]*area{out.sets, out.reachable} {
		text = binary.AppendUvarint(text, uint64(len(areas)))
		for _, a := range areas {
			text = binary.AppendUvarint(text, a.number)
		}
	}
	x.text = text
	known := x.scopes[string(text)]
	if known == nil {
		known = &out
		known.number, known.text = x.facts.number(), string(text)
		x.scopes[known.text] = known
		for _, a := range known.areas() {
			a.scopes[known] = struct{}{}
		}
	}
	return known
}

func (x *Index) area(set *fleet.Set) *area {
	known := x.areas[set]
	if known == nil {
		known = &area{number: x.facts.number(), set: set, empty: true, scopes: map[*scope]struct{}{}}
		if selector, ok := set.Selector(); ok {
			known.members, known.empty = x.facts.conjunction(selector), false
		}
		x.areas[set] = known
		for _, l := range known.members {
			l.sets++
			l.users++
		}
	}
	return known
}

// drop forgets a scope, and areas that no other has.
func (x *Index) drop(s *scope) {
	delete(x.scopes, s.text)
	for _, a := range s.areas() {
		if delete(a.scopes, s); len(a.scopes) > 0 || x.areas[a.set] == nil {
			continue
		}
		delete(x.areas, a.set)
		for _, l := range a.members {
			l.sets--
			x.facts.quit(l.fact)
		}
	}
}

// areas returns all that the scope has, some of them twice.
func (s *scope) areas() []*area { return slices.Concat(s.sets, s.reachable) }

// look works out when a changing cluster is a member.
func (s *scope) look(c *change) {
	if s.turn != c.turn {
		s.turn, s.counted = c.turn, false
		s.member, s.reached = among(s.sets, c), among(s.reachable, c)
	}
}

// among says when one of the areas has a cluster that is not being deleted.
func among(areas []*area, c *change) times {
	out := never
	for _, a := range areas {
		out |= a.holds()
	}
	return out & c.present
}

// moves says whether the sets read something that changes of a cluster.
func (s *scope) moves() bool {
	return slices.ContainsFunc(s.areas(), func(a *area) bool { return a.members.reads() })
}

// fewCandidates says whether the sets have at most one cluster, so that a change may have made the first or taken
// the last: a placement tells its user which it is, nobody to choose from or nobody who matches.
func (s *scope) fewCandidates(of *fleet.Snapshot) bool {
	if !s.counted {
		candidates := &bitset.BitSet{}
		for _, a := range s.sets {
			a.set.AddMembers(of, candidates)
		}
		of.Holding(fleet.TermTerminating).DropFrom(candidates)
		s.few, s.counted = candidates.Count() <= 1, true
	}
	return s.few
}
