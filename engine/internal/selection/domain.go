package selection

import (
	"slices"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// tree has the domains of the candidates. The domains of the first spread constraint are parts of the root, those of the next
// constraint are parts of these, and so on. Domains without parts are leaves; without constraints the root has one leaf. The
// tree is fixed; domainCounts has the counts.
type tree struct {
	antiAffinity []program.Topology
	spread       []program.Constraint
	candidates   []fleet.ID
	// divisions are the divisions of the terms: anti-affinity first, then the constraints.
	divisions []fleet.Domains
	domains   []domain
	// leafOf is the leaf of each candidate. It is outside if the candidate must not be chosen because it lacks a required label
	// or claim.
	leafOf []int
	// byKey finds a domain by parent and part. It is built when a cluster without a leaf is chosen.
	byKey map[domainKey]int
}

// outside is the leaf of a candidate without one, and the parent of the root.
const outside = -1

// domain is a part of the candidates. The root has level 0. Parts have higher numbers than their parent.
type domain struct {
	domainKey

	level int
	parts []int
}

// domainKey identifies a domain by its parent and its part of the division.
type domainKey struct{ parent, part int }

// newTree divides the candidates. It returns nil if there are no terms.
func newTree(s *fleet.Snapshot, candidates []fleet.ID, p *program.Program) *tree {
	if len(p.AntiAffinity) == 0 && len(p.Spread) == 0 {
		return nil
	}
	t := &tree{
		antiAffinity: p.AntiAffinity, spread: p.Spread, candidates: candidates,
		domains: []domain{{domainKey: domainKey{parent: outside}}}, leafOf: make([]int, len(candidates)),
	}
	for _, topology := range p.AntiAffinity {
		t.divisions = append(t.divisions, s.Domains(topology.Source, topology.Key))
	}
	for _, constraint := range p.Spread {
		t.divisions = append(t.divisions, s.Domains(constraint.Source, constraint.Key))
	}
	t.build()
	return t
}

// build makes the domains, level by level.
func (t *tree) build() {
	for i, id := range t.candidates {
		if _, lacks := t.missingTerm(id); lacks {
			t.leafOf[i] = outside
		}
	}
	for level := range t.spread {
		t.split(level)
	}
	if len(t.spread) > 0 {
		return
	}
	only := t.addDomain(domainKey{})
	for i, at := range t.leafOf {
		if at != outside {
			t.leafOf[i] = only
		}
	}
}

// split moves every candidate from its domain into a part of it. Candidates are sorted by part, so each domain has one part at a
// time under construction.
func (t *tree) split(level int) {
	making := make([]int, len(t.domains))
	for _, i := range t.positionsByPart(t.spreadDivision(level)) {
		at := t.leafOf[i]
		if at == outside {
			continue
		}
		part := t.spreadDivision(level).Of(t.candidates[i])
		if making[at] == 0 || t.domains[making[at]].part != part {
			making[at] = t.addDomain(domainKey{at, part})
		}
		t.leafOf[i] = making[at]
	}
}

// spreadDivision returns the division of a spread constraint.
func (t *tree) spreadDivision(level int) fleet.Domains { return t.divisions[len(t.antiAffinity)+level] }

// positionsByPart returns the positions of the candidates, sorted by their part of a division.
func (t *tree) positionsByPart(of fleet.Domains) []int {
	next := make([]int, of.Count()+1)
	for _, id := range t.candidates {
		next[of.Of(id)+1]++
	}
	for part := range of.Count() {
		next[part+1] += next[part]
	}
	out := make([]int, len(t.candidates))
	for i, id := range t.candidates {
		part := of.Of(id)
		out[next[part]] = i
		next[part]++
	}
	return out
}

// addDomain adds a domain.
func (t *tree) addDomain(at domainKey) int {
	made := len(t.domains)
	t.domains = append(t.domains, domain{domainKey: at, level: t.domains[at.parent].level + 1})
	t.domains[at.parent].parts = append(t.domains[at.parent].parts, made)
	return made
}

// missingTerm returns the first term whose required label or claim a cluster lacks. Terms are numbered: anti-affinity first,
// then the constraints. Ok is false if it lacks none.
func (t *tree) missingTerm(id fleet.ID) (term int, ok bool) {
	for i, division := range t.divisions {
		must := i < len(t.antiAffinity) || t.spread[i-len(t.antiAffinity)].Hard
		if must && division.Of(id) == 0 {
			return i, true
		}
	}
	return 0, false
}

// sizes returns the number of candidates of each leaf; 0 for other domains.
func (t *tree) sizes() []int {
	out := make([]int, len(t.domains))
	for _, leaf := range t.leafOf {
		if leaf != outside {
			out[leaf]++
		}
	}
	return out
}

// leaf returns the leaf of a cluster, or outside.
func (t *tree) leaf(id fleet.ID) int {
	if i, candidate := slices.BinarySearch(t.candidates, id); candidate {
		return t.leafOf[i]
	}
	return outside
}

// path returns the domains from below the root to a leaf.
func (t *tree) path(leaf int) []int {
	out := make([]int, len(t.spread))
	for level := len(out) - 1; level >= 0; level-- {
		out[level], leaf = leaf, t.domains[leaf].parent
	}
	return out
}

// knownPath returns the domains of a cluster without a leaf, from below the root, as far as they exist.
func (t *tree) knownPath(id fleet.ID) []int {
	if t.byKey == nil {
		t.byKey = make(map[domainKey]int, len(t.domains))
		for at, domain := range t.domains {
			t.byKey[domain.domainKey] = at
		}
	}
	out := make([]int, 0, len(t.spread))
	at := 0
	for level := range t.spread {
		next, known := t.byKey[domainKey{at, t.spreadDivision(level).Of(id)}]
		if !known {
			break
		}
		out, at = append(out, next), next
	}
	return out
}
