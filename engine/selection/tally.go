package selection

import (
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
	// taken is, per anti-affinity term, who was chosen first in each domain.
	taken []map[string]string
}

// newTally counts nobody yet. Candidates for which absent holds are none.
func newTally(t *tree, absent func(position int) bool) *tally {
	n := len(t.domains)
	out := &tally{
		tree: t, counts: make([]int, n), there: make([]bool, n), least: make([]int, n), atLeast: make([]int, n),
		taken: make([]map[string]string, len(t.antiAffinity)),
	}
	for i := range out.taken {
		out.taken[i] = map[string]string{}
	}
	for i, leaf := range t.leafOf {
		if leaf == outside || absent(i) {
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

// add counts a chosen cluster. It returns the domain that holds all leaves for which any count or least count on the way
// to the root has changed.
func (t *tally) add(c *fleet.Cluster) (changed int) {
	for i, topology := range t.tree.antiAffinity {
		if value, has := topology.Domain(c); has && t.taken[i][value] == "" {
			t.taken[i][value] = c.Name()
		}
	}
	for i, at := range t.tree.path(c) {
		if !t.there[at] {
			break
		}
		if rose := t.fill(at); i == 0 && !rose {
			changed = at
		}
	}
	return changed
}

// fill counts one cluster in a domain and says whether the least count of those beside it has risen by that.
func (t *tally) fill(at int) (rose bool) {
	parent := t.tree.domains[at].parent
	t.counts[at]++
	if t.counts[at] > t.least[parent]+1 {
		return false
	}
	if t.atLeast[parent]--; t.atLeast[parent] > 0 {
		return false
	}
	t.measure(parent)
	return true
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
func (t *tally) free(c *fleet.Cluster) bool {
	for i, topology := range t.tree.antiAffinity {
		if value, has := topology.Domain(c); has && t.taken[i][value] != "" {
			return false
		}
	}
	return true
}

// block returns the first term that keeps a cluster from being chosen too: what it lacks, then anti-affinity, then hard
// constraints, then, where soft is set, the others. Terms are numbered as in tree.lacking. Ok is false where none does.
func (t *tally) block(c *fleet.Cluster, soft bool) (term int, argument verdict.Cap, ok bool) {
	if term, lacks := t.tree.lacking(c); lacks {
		return term, verdict.Cap{Constraint: t.tree.term(term), Lacks: true}, true
	}
	for i, topology := range t.tree.antiAffinity {
		value, _ := topology.Domain(c)
		if by := t.taken[i][value]; by != "" {
			return i, verdict.Cap{Constraint: t.tree.term(i), Domain: value, By: by}, true
		}
	}
	if term, argument, ok = t.exceeded(c, true); ok || !soft {
		return term, argument, ok
	}
	return t.exceeded(c, false)
}

// exceeded returns the first constraint, hard or soft, whose skew a cluster would exceed.
func (t *tally) exceeded(c *fleet.Cluster, hard bool) (term int, argument verdict.Cap, ok bool) {
	for level, at := range t.tree.path(c) {
		constraint := t.tree.spread[level]
		if constraint.Hard != hard || t.skew(at)+1 <= constraint.MaxSkew {
			continue
		}
		term = len(t.tree.antiAffinity) + level
		value, has := constraint.Domain(c)
		return term, verdict.Cap{Constraint: t.tree.term(term), Domain: value, Lacks: !has}, true
	}
	return 0, verdict.Cap{}, false
}

// term returns the name of a term as a user knows it.
func (t *tree) term(term int) string {
	if term < len(t.antiAffinity) {
		return "anti-affinity over " + t.antiAffinity[term].String()
	}
	return "spread over " + t.spread[term-len(t.antiAffinity)].String()
}
