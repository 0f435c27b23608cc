package program

import "github.com/berth-project/berth/engine/fleet"

// ClusterChanged returns the placements that a change of one cluster can touch, each once and in no order. before is nil
// for a cluster that is new, after for one that is gone; s is the fleet after the change. The list is the index's own: it is
// good until the index is used again.
func (x *Index) ClusterChanged(s *fleet.Snapshot, before, after *fleet.Cluster) []fleet.Key {
	c := compare(s, before, after)
	rest := x.rest(&c)
	if !c.everybody() && !c.labels && len(rest) == 0 { // a heartbeat
		return nil
	}
	x.look(&c, before, after)
	defer x.facts.forget()
	if c.everybody() || x.movesMembers() {
		x.visitScopes(&c)
	}
	if !c.everybody() {
		x.visitFewest(&c, x.concerned(rest), x.gated(), x.choosing())
	}
	out := x.touched()
	if c.arrives {
		out = x.countingAnother(&c)
	}
	return out
}

// ScoreChanged returns the placements that a change of one add-on score of a cluster can touch, each once and in no
// order. c is nil where there is no such cluster. The list is the index's own: it is good until the index is used again.
func (x *Index) ScoreChanged(c *fleet.Cluster, resource string) []fleet.Key {
	if c == nil || len(x.scores.on(resource))+len(x.scores.on(anyScore)) == 0 {
		return nil
	}
	same := compare(nil, c, c)
	x.look(&same, c, c)
	defer x.facts.forget()
	for _, name := range []string{resource, anyScore} {
		for _, r := range x.scores.on(name) {
			r.scope.look(&same)
			if r.scope.broken || r.scope.member&r.passes() != never {
				x.found = append(x.found, r)
			}
		}
	}
	return x.touched()
}

// look begins to look at a change. It ends with facts.forget.
func (x *Index) look(c *change, was, is *fleet.Cluster) {
	x.turn++
	c.turn = x.turn
	x.facts.look(was, is)
}

// rest returns the readers of what changes, apart from facts: no list is empty.
func (x *Index) rest(c *change) []shelf {
	var out []shelf
	add := func(given bool, list shelf) {
		if given && len(list) > 0 {
			out = append(out, list)
		}
	}
	add(c.cpu, x.cpu)
	add(c.memory, x.memory)
	for facet := range c.facets.Each() {
		add(true, x.facets.on(facet))
	}
	return out
}

// movesMembers says whether a cluster may come into a set or leave it.
func (x *Index) movesMembers() bool {
	for _, f := range x.facts.changed {
		if f.sets > 0 {
			return true
		}
	}
	return false
}

// visitScopes visits all who see a cluster come into their sets or leave them, and, where the change matters to everybody, all
// who may choose the cluster.
func (x *Index) visitScopes(c *change) {
	for _, s := range x.scopes {
		s.look(c)
		if s.member.differs() || s.reached.differs() || s.broken && s.moves() || c.everybody() && (s.broken || s.member|s.reached != never) {
			x.visit(c, s.readers)
		}
	}
}

// concerned returns the readers of the facts that change, and the rest.
func (x *Index) concerned(rest []shelf) []shelf {
	out := x.lists.concerned[:0]
	out = append(out, rest...)
	for _, f := range x.facts.changed {
		out = append(out, f.readers)
	}
	x.lists.concerned = out
	return out
}

// gated returns the readers to whom a change of the cluster can matter, as far as their gates tell.
func (x *Index) gated() []shelf {
	out := x.lists.gated[:0]
	out = append(out, x.open)
	for _, f := range x.facts.held {
		out = append(out, f.gated)
	}
	x.lists.gated = out
	return out
}

// choosing returns the readers who may have the cluster in one of their sets.
func (x *Index) choosing() []shelf {
	out := x.lists.choosing[:0]
	for _, a := range x.areas {
		if !a.set.Good() || a.holds() != never {
			for s := range a.scopes {
				out = append(out, s.readers)
			}
		}
	}
	x.lists.choosing = out
	return out
}

// visitFewest visits the readers in one of several collections: whoever is touched is in each of them, or saw the cluster come
// into a set or leave it.
func (x *Index) visitFewest(c *change, of ...[]shelf) {
	fewest, least := of[0], size(of[0])
	for _, lists := range of[1:] {
		if n := size(lists); n < least {
			fewest, least = lists, n
		}
	}
	for _, list := range fewest {
		x.visit(c, list)
	}
}

func size(lists []shelf) int {
	out := 0
	for _, list := range lists {
		out += len(list)
	}
	return out
}

// visit finds out who of some readers is touched. Each is asked once.
func (x *Index) visit(c *change, list shelf) {
	for _, r := range list {
		if r.turn == c.turn {
			continue
		}
		if r.turn = c.turn; r.touchedBy(c) {
			x.found = append(x.found, r)
		}
	}
}

// touched returns the placements of the readers that were found.
func (x *Index) touched() []fleet.Key {
	x.keys = x.keys[:0]
	for _, r := range x.found {
		x.keys = append(x.keys, r.members...)
	}
	clear(x.found)
	x.found = x.found[:0]
	return x.keys
}

// countingAnother returns the placements that are touched, and those that may not choose a cluster which comes or goes and
// count it all the same.
func (x *Index) countingAnother(c *change) []fleet.Key {
	for _, r := range x.counting {
		r.scope.look(c)
		if r.scope.broken || r.scope.reached.differs() || r.scope.member != never {
			continue // whether they are touched is known
		}
		for _, key := range r.members {
			if c.countsAnother(key) {
				x.keys = append(x.keys, key)
			}
		}
	}
	return x.keys
}
