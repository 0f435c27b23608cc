package selection

import (
	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/verdict"
)

// tally counts who is chosen in each domain of a tree. Only domains that a candidate is in are there to be filled; a
// cluster that is chosen for another reason counts where there is a domain for it.
type tally struct {
	tree *tree
	// counts is, per domain, how many are chosen in it; there says whether a candidate is in it.
	counts []int
	there  []bool
	// least is, per domain, the least count of its parts that are there, and atLeast how many parts have it.
	least, atLeast []int
	// taken is, per anti-affinity term, who was chosen first in each part.
	taken []map[int]fleet.ID
}

// newTally counts nobody yet. The clusters of missing are no candidates.
func newTally(t *tree, missing *bitset.BitSet) *tally {
	n := len(t.domains)
	out := &tally{
		tree: t, counts: make([]int, n), there: make([]bool, n), least: make([]int, n), atLeast: make([]int, n),
		taken: make([]map[int]fleet.ID, len(t.antiAffinity)),
	}
	for i := range out.taken {
		out.taken[i] = map[int]fleet.ID{}
	}
	for i, leaf := range t.leafOf {
		if leaf == outside || out.there[leaf] || missing.Test(t.candidates[i]) {
			continue
		}
		for at := leaf; at != outside && !out.there[at]; at = t.domains[at].parent {
			out.there[at] = true
			if parent := t.domains[at].parent; parent != outside {
				out.atLeast[parent]++
			}
		}
	}
	return out
}

// add counts a chosen cluster.
func (t *tally) add(id fleet.ID) {
	for i := range t.tree.antiAffinity {
		part := t.tree.divisions[i].Part(id)
		if _, taken := t.taken[i][part]; part > 0 && !taken {
			t.taken[i][part] = id
		}
	}
	var path []int
	if leaf := t.tree.leaf(id); leaf != outside {
		path = t.tree.path(leaf)
	} else {
		path = t.tree.trail(id)
	}
	for _, at := range path {
		if !t.there[at] {
			break
		}
		t.fill(at)
	}
}

// fill counts one cluster in a domain.
func (t *tally) fill(at int) {
	parent := t.tree.domains[at].parent
	t.counts[at]++
	if t.counts[at] > t.least[parent]+1 {
		return
	}
	if t.atLeast[parent]--; t.atLeast[parent] == 0 {
		t.measure(parent)
	}
}

// measure finds the least count of the parts of a domain.
func (t *tally) measure(parent int) {
	found := 0
	for _, part := range t.tree.domains[parent].parts {
		switch n := t.counts[part]; {
		case !t.there[part] || found > 0 && n > t.least[parent]:
		case found > 0 && n == t.least[parent]:
			found++
		default:
			t.least[parent], found = n, 1
		}
	}
	t.atLeast[parent] = found
}

// skew returns by how many clusters a domain exceeds the emptiest beside it.
func (t *tally) skew(at int) int { return t.counts[at] - t.least[t.tree.domains[at].parent] }

// free says whether anti-affinity lets a cluster stand beside those that are chosen.
func (t *tally) free(id fleet.ID) bool {
	for i := range t.tree.antiAffinity {
		if _, taken := t.taken[i][t.tree.divisions[i].Part(id)]; taken {
			return false
		}
	}
	return true
}

// block returns the first term that keeps a candidate from being chosen too: what it lacks, then anti-affinity, then hard
// constraints, then, where soft is set, the others. Terms are numbered as in tree.lacking. Ok is false where none does.
func (t *tally) block(s *fleet.Snapshot, id fleet.ID, soft bool) (term int, argument verdict.Cap, ok bool) {
	if term, lacks := t.tree.lacking(id); lacks {
		return term, verdict.Cap{Constraint: t.tree.term(term), Lacks: true}, true
	}
	for i, topology := range t.tree.antiAffinity {
		if by, taken := t.taken[i][t.tree.divisions[i].Part(id)]; taken {
			value, _ := topology.Domain(s.Cluster(id))
			return i, verdict.Cap{Constraint: t.tree.term(i), Domain: value, By: s.Name(by)}, true
		}
	}
	path := t.tree.path(t.tree.leaf(id))
	level, ok := t.exceeded(path, true)
	if !ok && soft {
		level, ok = t.exceeded(path, false)
	}
	if !ok {
		return 0, verdict.Cap{}, false
	}
	value, has := t.tree.spread[level].Domain(s.Cluster(id))
	term = len(t.tree.antiAffinity) + level
	return term, verdict.Cap{Constraint: t.tree.term(term), Domain: value, Lacks: !has}, true
}

// exceeded returns the first constraint, hard or soft, whose skew one more cluster on a path would exceed.
func (t *tally) exceeded(path []int, hard bool) (level int, ok bool) {
	for level, at := range path {
		constraint := t.tree.spread[level]
		if constraint.Hard == hard && t.skew(at)+1 > constraint.MaxSkew {
			return level, true
		}
	}
	return 0, false
}

// term returns the name of a term as a user knows it.
func (t *tree) term(term int) string {
	if term < len(t.antiAffinity) {
		return "anti-affinity over " + t.antiAffinity[term].String()
	}
	return "spread over " + t.spread[term-len(t.antiAffinity)].String()
}
