package selection

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/verdict"
)

// SpreadExcess is a hard spread constraint that the parts of one domain exceed.
type SpreadExcess struct {
	Term    verdict.Term
	MaxSkew int
	// Within are the names of the domain and those around it, outermost first; empty for all clusters.
	Within []string
	// Fullest are the parts that exceed the constraint, most clusters first. Emptiest are the parts with the fewest clusters.
	Fullest, Emptiest []SpreadDomain
}

// SpreadDomain is a domain with its number of chosen clusters.
type SpreadDomain struct {
	// Name is the quoted value of the label or claim, or "no value".
	Name     string
	Clusters int
}

// SpreadExcesses returns the hard constraints that the chosen clusters exceed, in their order, by the names of the domains.
func (r *Ranking) SpreadExcesses() []SpreadExcess {
	if r.finalCounts == nil {
		return nil
	}
	var out []SpreadExcess
	namer := domainNamer{tree: r.chooser.tree, snapshot: r.chooser.in.Snapshot}
	for at := range r.chooser.tree.domains {
		if r.finalCounts.partsExceed(at) {
			out = append(out, r.finalCounts.excess(at, &namer))
		}
	}
	slices.SortFunc(out, func(a, b SpreadExcess) int {
		return cmp.Or(cmp.Compare(a.Term.Index, b.Term.Index), slices.Compare(a.Within, b.Within))
	})
	return out
}

// partsExceed reports whether a part of a domain exceeds a hard constraint.
func (d *domainCounts) partsExceed(at int) bool {
	level := d.tree.domains[at].level
	if level >= len(d.tree.spread) || !d.tree.spread[level].Hard {
		return false
	}
	return slices.ContainsFunc(d.tree.domains[at].parts, func(part int) bool {
		return d.present[part] && d.skew(part) > d.tree.spread[level].MaxSkew
	})
}

// excess returns how the parts of a domain exceed its constraint.
func (d *domainCounts) excess(at int, namer *domainNamer) SpreadExcess {
	level := d.tree.domains[at].level
	out := SpreadExcess{
		Term: d.tree.termOf(len(d.tree.antiAffinity) + level), MaxSkew: d.tree.spread[level].MaxSkew, Within: namer.path(at),
	}
	for _, part := range d.tree.domains[at].parts {
		named := SpreadDomain{namer.name(part), d.chosen[part]}
		switch {
		case !d.present[part]:
		case d.skew(part) > out.MaxSkew:
			out.Fullest = append(out.Fullest, named)
		case d.skew(part) == 0:
			out.Emptiest = append(out.Emptiest, named)
		}
	}
	slices.SortFunc(out.Fullest, func(a, b SpreadDomain) int {
		return cmp.Or(cmp.Compare(b.Clusters, a.Clusters), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(out.Emptiest, func(a, b SpreadDomain) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// domainNamer names the domains of a tree by the value of one of their candidates.
type domainNamer struct {
	tree     *tree
	snapshot *fleet.Snapshot
	// sample has a candidate of each domain; nil before the first name.
	sample []fleet.ID
}

// name returns the name of a domain.
func (n *domainNamer) name(at int) string {
	if n.sample == nil {
		n.sample = make([]fleet.ID, len(n.tree.domains))
		for i, leaf := range n.tree.leafOf {
			for at := leaf; at != outside; at = n.tree.domains[at].parent {
				n.sample[at] = n.tree.candidates[i]
			}
		}
	}
	value, has := n.tree.spread[n.tree.domains[at].level-1].Domain(n.snapshot.Cluster(n.sample[at]))
	if !has {
		return "no value"
	}
	return strconv.Quote(value)
}

// path returns the names of a domain and those around it, outermost first, without the root.
func (n *domainNamer) path(at int) []string {
	var out []string
	for ; at != 0; at = n.tree.domains[at].parent {
		out = append(out, n.name(at))
	}
	slices.Reverse(out)
	return out
}
