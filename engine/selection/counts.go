package selection

import (
	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/verdict"
)

// domainCounts counts who is chosen in each domain of a tree. Only domains that a candidate is in are there to be filled; a
// cluster that is chosen for another reason counts where there is a domain for it.
type domainCounts struct {
	tree *tree
	// chosen is, per domain, how many are chosen in it; there says whether a candidate is in it.
	chosen  []int
	present []bool
	// least is, per domain, the least count of its parts that are there, and atLeast how many parts have it.
	least, atLeast []int
	// taken is, per anti-affinity term, who was chosen first in each part.
	taken []map[int]fleet.ID
}

// newDomainCounts counts nobody yet. The clusters of missing are no candidates.
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

// recount finds the least count of the parts of a domain.
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

// skew returns by how many clusters a domain exceeds the emptiest beside it.
func (t *domainCounts) skew(at int) int { return t.chosen[at] - t.least[t.tree.domains[at].parent] }

// allowed says whether anti-affinity lets a cluster stand beside those that are chosen.
func (t *domainCounts) allowed(id fleet.ID) bool {
	for i := range t.tree.antiAffinity {
		if _, taken := t.taken[i][t.tree.divisions[i].Of(id)]; taken {
			return false
		}
	}
	return true
}

// blockingTerm returns the first term that keeps a candidate from being chosen too: what it lacks, then anti-affinity, then hard
// constraints, then, where soft is set, the others. Terms are numbered as in tree.lacking. Ok is false where none does.
func (t *domainCounts) blockingTerm(s *fleet.Snapshot, id fleet.ID, soft bool) (term int, argument verdict.Constraint, ok bool) {
	if term, lacks := t.tree.missingTerm(id); lacks {
		return term, verdict.Constraint{Constraint: t.tree.termText(term), Lacks: true}, true
	}
	for i, topology := range t.tree.antiAffinity {
		if by, taken := t.taken[i][t.tree.divisions[i].Of(id)]; taken {
			value, _ := topology.Domain(s.Cluster(id))
			return i, verdict.Constraint{Constraint: t.tree.termText(i), Domain: value, TakenBy: s.Name(by)}, true
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
	return term, verdict.Constraint{Constraint: t.tree.termText(term), Domain: value, Lacks: !has}, true
}

// exceeded returns the first constraint, hard or soft, whose skew one more cluster on a path would exceed.
func (t *domainCounts) exceeded(path []int, hard bool) (level int, ok bool) {
	for level, at := range path {
		constraint := t.tree.spread[level]
		if constraint.Hard == hard && t.skew(at)+1 > constraint.MaxSkew {
			return level, true
		}
	}
	return 0, false
}

// termText returns the name of a term as a user knows it.
func (t *tree) termText(term int) string {
	if term < len(t.antiAffinity) {
		return "anti-affinity over " + t.antiAffinity[term].String()
	}
	return "spread over " + t.spread[term-len(t.antiAffinity)].String()
}
