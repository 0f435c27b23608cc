package selection

import (
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
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
	// before is how many clusters each domain had before the choice; nil without hard constraints.
	before []int
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
func (d *domainCounts) add(id fleet.ID) {
	for i := range d.tree.antiAffinity {
		part := d.tree.divisions[i].Of(id)
		if _, taken := d.taken[i][part]; part > 0 && !taken {
			d.taken[i][part] = id
		}
	}
	d.eachPresent(id, d.increment)
}

// countBefore counts the clusters that each domain had before the choice. A hard constraint lets a domain keep as many.
func (d *domainCounts) countBefore(clusters *bitset.BitSet) {
	if !slices.ContainsFunc(d.tree.spread, func(c program.Constraint) bool { return c.Hard }) {
		return
	}
	d.before = make([]int, len(d.tree.domains))
	for id := range clusters.EachSet() {
		d.eachPresent(id, func(at int) { d.before[at]++ })
	}
}

// eachPresent calls do for the domains of a cluster from below the root, as far as they have a candidate.
func (d *domainCounts) eachPresent(id fleet.ID, do func(at int)) {
	var path []int
	if leaf := d.tree.leaf(id); leaf != outside {
		path = d.tree.path(leaf)
	} else {
		path = d.tree.knownPath(id)
	}
	for _, at := range path {
		if !d.present[at] {
			break
		}
		do(at)
	}
}

// refilled reports whether a domain of a hard constraint has as many clusters as before the choice. Beyond the skew it gets no
// more.
func (d *domainCounts) refilled(at int) bool {
	return d.before != nil && d.tree.spread[d.tree.domains[at].level-1].Hard && d.chosen[at] >= d.before[at]
}

// increment counts one cluster in a domain.
func (d *domainCounts) increment(at int) {
	parent := d.tree.domains[at].parent
	d.chosen[at]++
	if d.chosen[at] > d.least[parent]+1 {
		return
	}
	if d.atLeast[parent]--; d.atLeast[parent] == 0 {
		d.recount(parent)
	}
}

// recount finds the lowest count of a domain's parts.
func (d *domainCounts) recount(parent int) {
	found := 0
	for _, part := range d.tree.domains[parent].parts {
		switch n := d.chosen[part]; {
		case !d.present[part] || found > 0 && n > d.least[parent]:
		case found > 0 && n == d.least[parent]:
			found++
		default:
			d.least[parent], found = n, 1
		}
	}
	d.atLeast[parent] = found
}

// skew returns by how many clusters a domain exceeds the emptiest domain beside it.
func (d *domainCounts) skew(at int) int { return d.chosen[at] - d.least[d.tree.domains[at].parent] }

// allowed reports whether anti-affinity allows a cluster beside the chosen ones.
func (d *domainCounts) allowed(id fleet.ID) bool {
	for i := range d.tree.antiAffinity {
		if _, taken := d.taken[i][d.tree.divisions[i].Of(id)]; taken {
			return false
		}
	}
	return true
}

// blockingTerm returns the first term that blocks a candidate: a term whose label or claim it lacks, then anti-affinity, then
// hard constraints and, if soft is set, soft ones. Terms are numbered as in tree.missingTerm. Ok is false if no term blocks it.
func (d *domainCounts) blockingTerm(s *fleet.Snapshot, id fleet.ID, soft bool) (term int, argument verdict.Constraint, ok bool) {
	if term, lacks := d.tree.missingTerm(id); lacks {
		return term, verdict.Constraint{Term: d.tree.termOf(term), Lacks: true}, true
	}
	for i, topology := range d.tree.antiAffinity {
		if by, taken := d.taken[i][d.tree.divisions[i].Of(id)]; taken {
			value, _ := topology.Domain(s.Cluster(id))
			return i, verdict.Constraint{Term: d.tree.termOf(i), Domain: value, TakenBy: s.Name(by)}, true
		}
	}
	path := d.tree.path(d.tree.leaf(id))
	level, ok := d.exceeded(path, true)
	if !ok && soft {
		level, ok = d.exceeded(path, false)
	}
	if !ok {
		return 0, verdict.Constraint{}, false
	}
	value, has := d.tree.spread[level].Domain(s.Cluster(id))
	term = len(d.tree.antiAffinity) + level
	return term, verdict.Constraint{Term: d.tree.termOf(term), Domain: value, Lacks: !has}, true
}

// exceeded returns the first constraint, hard or soft, that one more cluster on a path would exceed.
func (d *domainCounts) exceeded(path []int, hard bool) (level int, ok bool) {
	for level, at := range path {
		constraint := d.tree.spread[level]
		if constraint.Hard == hard && d.skew(at)+1 > constraint.MaxSkew {
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
