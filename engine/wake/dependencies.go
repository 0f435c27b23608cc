package wake

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// dependencies is everything that decides whether a change of a cluster touches a placement.
type dependencies struct {
	scope *scope
	// predicates are the selectors of spec.predicates, divisions those of tiers and groups.
	predicates, divisions []conjunction
	// topologies are facts that keep their state while a cluster stays in its topology domains.
	topologies []*fact
	// scores are the add-on resources that are read; anyScore alone if their names are computed.
	scores []string
	facets fleet.Facet
	traits trait
}

// trait is a property of a placement besides its selectors. Traits are bits.
type trait uint8

const (
	// compiled: the placement has a program.
	compiled trait = 1 << iota
	// mayKeep: a decision may end with the stored clusters kept.
	mayKeep
	// mayHold: the disruption policy may keep a cluster that passes no predicate selected for a while.
	mayHold
	// countsRemovals: the disruption policy allows a percentage of all selected clusters.
	countsRemovals
	// hasExpressions: a predicate has expressions besides its selector.
	hasExpressions
	// readsCPU and readsMemory: a prioritizer reads the allocatable amount.
	readsCPU
	readsMemory
)

// anyScore stands for a computed name. No resource has this name.
const anyScore = ""

// dependenciesOf returns the dependencies of a placement. p is nil if the placement does not compile.
func (i *Index) dependenciesOf(s *fleet.Snapshot, namespace string, p *program.Program) dependencies {
	if p == nil {
		return dependencies{scope: i.scopeOf(s, namespace, nil, true), traits: mayKeep}.conservative()
	}
	out := dependencies{
		scope:      i.scopeOf(s, namespace, p.ClusterSets, p.MayKeepDecisions()),
		predicates: i.facts.conjunctions(slices.Values(p.Predicates)),
		divisions:  i.facts.conjunctions(p.DivisionSelectors()),
		facets:     p.Facets(), scores: scoresOf(p), traits: traitsOf(p),
	}
	for topology := range p.Topologies() {
		out.topologies = append(out.topologies, i.facts.getOrCreate(factKey{source: topology.Source, aspect: valueKept, key: topology.Key}))
	}
	return out.conservative()
}

// conservative adds CPU and memory if a set is invalid: its members are unknown, so any change may matter.
func (d dependencies) conservative() dependencies {
	if d.scope.hasInvalidSet {
		d.traits |= readsCPU | readsMemory
	}
	return d
}

func traitsOf(p *program.Program) trait {
	out := compiled
	out.add(mayKeep, p.MayKeepDecisions())
	out.add(mayHold, p.Budget != nil)
	out.add(countsRemovals, p.Budget != nil && p.Budget.Percent)
	out.add(hasExpressions, slices.ContainsFunc(p.Predicates, func(p program.Predicate) bool { return len(p.Expressions) > 0 }))
	out.add(readsCPU, p.HasPrioritizer(program.AllocatableCPU))
	out.add(readsMemory, p.HasPrioritizer(program.AllocatableMemory))
	return out
}

// add adds a trait if the condition holds.
func (t *trait) add(other trait, condition bool) {
	if condition {
		*t |= other
	}
}

// has reports whether one of other is set.
func (t trait) has(other trait) bool { return t&other != 0 }

// scoresOf returns the add-on resources whose scores the program reads, or anyScore.
func scoresOf(p *program.Program) []string {
	var out []string
	for _, by := range p.Prioritizers {
		if by.Kind == program.AddOn {
			out = append(out, by.Resource)
		}
	}
	for expression := range p.Expressions() {
		names, all := expression.Scores()
		if all {
			return []string{anyScore}
		}
		out = append(out, names...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// facts yields every fact that is read, except those of sets.
func (d *dependencies) facts() iter.Seq[*fact] {
	return func(yield func(*fact) bool) {
		for _, list := range [][]conjunction{d.predicates, d.divisions} {
			for _, c := range list {
				for _, l := range c {
					if !yield(l.fact) {
						return
					}
				}
			}
		}
		for _, f := range d.topologies {
			if !yield(f) {
				return
			}
		}
	}
}

// guards returns a list of facts. At least one must hold for the cluster before or after a change, otherwise the change
// cannot matter unless the cluster joins or leaves a set. Ok is false without such facts.
func (d *dependencies) guards() (out conjunction, ok bool) {
	reads := d.traits.has(readsCPU|readsMemory) || d.facets != 0 || len(d.divisions)+len(d.topologies) > 0
	if len(d.predicates) == 0 || d.scope.hasInvalidSet || d.traits.has(mayHold) && reads {
		return nil, false
	}
	for _, c := range d.predicates {
		guard := c.guard()
		if guard == nil {
			return nil, false
		}
		out = append(out, guard...)
	}
	return out, true
}

// appendKey appends a key that is equal for equal dependencies, and only for them.
func (d *dependencies) appendKey(to []byte) []byte {
	to = binary.AppendUvarint(to, d.scope.id)
	to = append(to, byte(d.traits))
	to = binary.AppendUvarint(to, uint64(d.facets))
	for _, list := range [][]conjunction{d.predicates, d.divisions} {
		to = binary.AppendUvarint(to, uint64(len(list)))
		for _, c := range list {
			to = binary.AppendUvarint(to, uint64(len(c)))
			for _, l := range c {
				to = append(binary.AppendUvarint(to, l.id), bit(l.negated)<<1|bit(l.last))
			}
		}
	}
	to = binary.AppendUvarint(to, uint64(len(d.topologies)))
	for _, f := range d.topologies {
		to = binary.AppendUvarint(to, f.id)
	}
	for _, score := range d.scores {
		to = append(binary.AppendUvarint(to, uint64(len(score))), score...)
	}
	return to
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}
