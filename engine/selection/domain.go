package selection

import (
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// tree holds the domains that the candidates are divided into: those of the first spread constraint are parts of the
// root, those of the next are parts of these, and so on. Those without parts are leaves; without constraints the root has
// one. A tree only says who belongs where; how many are chosen is in a tally.
type tree struct {
	antiAffinity []program.Topology
	spread       []program.Constraint
	domains      []domain
	// below finds a domain by what it is a part of and what tells it from the other parts.
	below map[place]int
	// leafOf is, per candidate, its leaf, or outside where it must not be chosen, since it lacks what a hard constraint or
	// anti-affinity divides by.
	leafOf []int
	// blocks are the domains whose parts are leaves, those of one domain side by side.
	blocks []int
}

// outside is the leaf of a candidate that has none, and what the root is a part of.
const outside = -1

// domain is a part of the candidates. Its blocks are those from first up to, without, end; that of a leaf is the one it is
// part of.
type domain struct {
	parent, level int
	parts         []int
	first, end    int
}

// place tells the parts of a domain from each other: by the value of a label or claim, or by the lack of one.
type place struct {
	parent int
	value  string
	lacks  bool
}

// newTree divides candidates. It returns nil where nothing divides them.
func newTree(s *fleet.Snapshot, candidates []fleet.ID, p *program.Program) *tree {
	if len(p.AntiAffinity) == 0 && len(p.Spread) == 0 {
		return nil
	}
	t := &tree{
		antiAffinity: p.AntiAffinity, spread: p.Spread, below: map[place]int{},
		domains: []domain{{parent: outside}}, leafOf: make([]int, len(candidates)),
	}
	if len(t.spread) == 0 {
		t.part(place{})
	}
	for i, id := range candidates {
		t.leafOf[i] = t.plant(s.Cluster(id))
	}
	t.number(0)
	return t
}

// plant adds the domains of a cluster, unless it lacks what it must have, and returns its leaf.
func (t *tree) plant(c *fleet.Cluster) int {
	if _, lacks := t.lacking(c); lacks {
		return outside
	}
	if len(t.spread) == 0 {
		return 1
	}
	at := 0
	for level := range t.spread {
		at = t.part(t.placed(c, at, level))
	}
	return at
}

// part returns the domain at a place, which it adds if need be.
func (t *tree) part(at place) int {
	if known, ok := t.below[at]; ok {
		return known
	}
	made := len(t.domains)
	t.domains = append(t.domains, domain{parent: at.parent, level: t.domains[at.parent].level + 1})
	t.domains[at.parent].parts = append(t.domains[at.parent].parts, made)
	t.below[at] = made
	return made
}

// lacking returns the first term whose label or claim a cluster must have and lacks. Terms are numbered: anti-affinity
// first, then the constraints. Ok is false where it lacks none.
func (t *tree) lacking(c *fleet.Cluster) (term int, ok bool) {
	for i, topology := range t.antiAffinity {
		if _, has := topology.Domain(c); !has {
			return i, true
		}
	}
	for i, constraint := range t.spread {
		if !constraint.Hard {
			continue
		}
		if _, has := constraint.Domain(c); !has {
			return len(t.antiAffinity) + i, true
		}
	}
	return 0, false
}

// placed returns where a cluster is within a domain.
func (t *tree) placed(c *fleet.Cluster, parent, level int) place {
	value, has := t.spread[level].Domain(c)
	return place{parent: parent, value: value, lacks: !has}
}

// number numbers the blocks below a domain. It calls itself once for each constraint, of which there are few.
func (t *tree) number(at int) {
	d := &t.domains[at]
	d.first = len(t.blocks)
	if d.level == max(len(t.spread), 1)-1 {
		t.blocks = append(t.blocks, at)
		for _, leaf := range d.parts {
			t.domains[leaf].first, t.domains[leaf].end = d.first, d.first+1
		}
	} else {
		for _, part := range d.parts {
			t.number(part)
		}
	}
	d.end = len(t.blocks)
}

// path returns the domains that a cluster is in, the outermost first, as far as there are such.
func (t *tree) path(c *fleet.Cluster) []int {
	out := make([]int, 0, len(t.spread))
	at := 0
	for level := range t.spread {
		next, known := t.below[t.placed(c, at, level)]
		if !known {
			break
		}
		out, at = append(out, next), next
	}
	return out
}
