package selection

import (
	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/verdict"
)

// domainCounts counts the chosen clusters in each domain of a tree. Only domains with a candidate are present. A held cluster
// that is no candidate counts in the domains that are present.
type domainCounts struct {
	tree *tree
	// chosen is the count of each domain; present is set for domains with a candidate.
	chosen  []int
	present []bool
	// least is the lowest count of a domain's present parts, atLeast how many parts have it.
	least, atLeast []int
	// taken has, for each anti-affinity term, the first chosen cluster of each part.
	taken []map[int]fleet.ID
}

// newDomainCounts returns zero counts. The clusters of missing are no candidates.
func newDomainCounts(t *tree, missing *bitset.BitSet) *domainCounts {
	n := len(t.domains)
	out := &domainCounts{
		tree: t, chosen: make([]int, n), present: make([]bool, n), least: make([]int, n), atLeast: make([]int, n),
		taken: make([]map[int]fleet.ID, len(t.antiAffinity)),
	}
	for i := range out.taken {
		out.taken[i] = map[int]fleet.ID{}
	}
	for i, leaf := range t.leafOf {
		if leaf == outside || out.present[leaf] || missing.Test(t.candidates[i]) {
			continue
		}
		for at := leaf; at != outside && !out.present[at]; at = t.domains[at].parent {
			out.present[at] = true
			if parent := t.domains[at].parent; parent != outside {
				out.atLeast[parent]++
			}
		}
	}
	return out
}

// add counts a chosen cluster.
func (t *domainCounts) add(id fleet.ID) {
	for i := range t.tree.antiAffinity {
		part := t.tree.divisions[i].Of(id)
		if _, taken := t.taken[i][part]; part > 0 && !taken {
			t.taken[i][part] = id
		}
	}
	var path []int
	if leaf := t.tree.leaf(id); leaf != outside {
		path = t.tree.path(leaf)
	} else {
		path = t.tree.knownPath(id)
	}
	for _, at := range path {
		if !t.present[at] {
			break
		}
		t.increment(at)
	}
}

// increment counts one cluster in a domain.
func (t *domainCounts) increment(at int) {
	parent := t.tree.domains[at].parent
	t.chosen[at]++
	if t.chosen[at] > t.least[parent]+1 {
		return
	}
	if t.atLeast[parent]--; t.atLeast[parent] == 0 {
		t.recount(parent)
	}
}

// recount finds the lowest count of a domain's parts.
func (t *domainCounts) recount(parent int) {
	found := 0
	for _, part := range t.tree.domains[parent].parts {
		switch n := t.chosen[part]; {
		case !t.present[part] || found > 0 && n > t.least[parent]:
		case found > 0 && n == t.least[parent]:
			found++
		default:
			t.least[parent], found = n, 1
		}
	}
	t.atLeast[parent] = found
}

// skew returns by how many clusters a domain exceeds the emptiest domain beside it.
func (t *domainCounts) skew(at int) int { return t.chosen[at] - t.least[t.tree.domains[at].parent] }

// allowed reports whether anti-affinity allows a cluster beside the chosen ones.
func (t *domainCounts) allowed(id fleet.ID) bool {
	for i := range t.tree.antiAffinity {
		if _, taken := t.taken[i][t.tree.divisions[i].Of(id)]; taken {
			return false
		}
	}
	return true
}

// blockingTerm returns the first term that blocks a candidate: a term whose label or claim it lacks, then anti-affinity, then
// hard constraints and, if soft is set, soft ones. Terms are numbered as in tree.missingTerm. Ok is false if no term blocks it.
func (t *domainCounts) blockingTerm(s *fleet.Snapshot, id fleet.ID, soft bool) (term int, argument verdict.Constraint, ok bool) {
	if term, lacks := t.tree.missingTerm(id); lacks {
		return term, verdict.Constraint{Term: t.tree.termOf(term), Lacks: true}, true
	}
	for i, topology := range t.tree.antiAffinity {
		if by, taken := t.taken[i][t.tree.divisions[i].Of(id)]; taken {
			value, _ := topology.Domain(s.Cluster(id))
			return i, verdict.Constraint{Term: t.tree.termOf(i), Domain: value, TakenBy: s.Name(by)}, true
		}
	}
	path := t.tree.path(t.tree.leaf(id))
	level, ok := t.exceeded(path, true)
	if !ok && soft {
		level, ok = t.exceeded(path, false)
	}
	if !ok {
		return 0, verdict.Constraint{}, false
	}
	value, has := t.tree.spread[level].Domain(s.Cluster(id))
	term = len(t.tree.antiAffinity) + level
	return term, verdict.Constraint{Term: t.tree.termOf(term), Domain: value, Lacks: !has}, true
}

// exceeded returns the first constraint, hard or soft, that one more cluster on a path would exceed.
func (t *domainCounts) exceeded(path []int, hard bool) (level int, ok bool) {
	for level, at := range path {
		constraint := t.tree.spread[level]
		if constraint.Hard == hard && t.skew(at)+1 > constraint.MaxSkew {
			return level, true
		}
	}
	return 0, false
}

// termOf returns the term with a number.
func (t *tree) termOf(number int) verdict.Term {
	if number < len(t.antiAffinity) {
		return verdict.Term{Index: number, Topology: t.antiAffinity[number].String()}
	}
	index := number - len(t.antiAffinity)
	return verdict.Term{Spread: true, Index: index, Topology: t.spread[index].String()}
}
