package selection

import (
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// tree holds the domains that the candidates are divided into: those of the first spread constraint below the root,
// those of the next within each, and so on. A domain of the last constraint is a leaf; without constraints the root is.
// A tree only says who belongs where; how many are chosen is in a tally.
type tree struct {
	antiAffinity []program.Topology
	spread       []program.Constraint
	domains      []domain
	// below finds a domain by the one that it is part of and what tells it from the others there.
	below map[place]int
	// leaves are the leaf domains, those of one domain side by side. leafOf is, per candidate, the number of its leaf, or
	// outside where it must not be chosen, since it lacks what a hard constraint or anti-affinity divides by.
	leaves []int
	leafOf []int
}

// outside is the leaf of a candidate that has none, and the parent of the root.
const outside = -1

// domain is a part of the candidates. Its leaves are those from first up to, without, end.
type domain struct {
	parent, level int
	parts         []int
	first, end    int
}

// place tells a domain from the others within its parent: by the value of a label or claim, or by the lack of one.
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
	homes := make([]int, len(candidates))
	for i, id := range candidates {
		homes[i] = outside
		if c := s.Cluster(id); t.eligible(c) {
			homes[i] = t.plant(c)
		}
	}
	t.number(0)
	for i, home := range homes {
		t.leafOf[i] = outside
		if home != outside {
			t.leafOf[i] = t.domains[home].first
		}
	}
	return t
}

// eligible says whether a cluster has every label and claim that clusters are not chosen without.
func (t *tree) eligible(c *fleet.Cluster) bool {
	_, lacks := t.lacking(c)
	return !lacks
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
		if _, has := constraint.Domain(c); !has && constraint.Hard {
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

// plant adds the domains of an eligible cluster and returns the last.
func (t *tree) plant(c *fleet.Cluster) int {
	at := 0
	for level := range t.spread {
		place := t.placed(c, at, level)
		next, known := t.below[place]
		if !known {
			next = len(t.domains)
			t.domains = append(t.domains, domain{parent: at, level: level + 1})
			t.domains[at].parts = append(t.domains[at].parts, next)
			t.below[place] = next
		}
		at = next
	}
	return at
}

// number numbers the leaves below a domain. It calls itself once for each constraint, of which there are few.
func (t *tree) number(at int) {
	d := &t.domains[at]
	d.first = len(t.leaves)
	if d.level == len(t.spread) {
		t.leaves = append(t.leaves, at)
	}
	for _, part := range d.parts {
		t.number(part)
	}
	d.end = len(t.leaves)
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
