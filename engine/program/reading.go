package program

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
)

// dependencies is all that decides whether a change of a cluster touches a placement.
type dependencies struct {
	scope *scope
	// predicates are those of the spec, divisions those of tiers and groups.
	predicates, divisions []conjunction
	// topologies are kept by a cluster that stays in its domains.
	topologies []*fact
	// scores are the add-on resources that are read, or anyScore.
	scores []string
	facets celenv.Facet
	traits trait
}

// trait is something that placements have in common, apart from what they select by. Traits are bits.
type trait uint8

const (
	// compiled placements have a program.
	compiled trait = 1 << iota
	// mayKeep ones may have to keep what they have.
	mayKeep
	// mayHold ones may hold a cluster that passes no predicate: held by the disruption policy, it stays and counts until
	// its turn comes, or until it is no member any more.
	mayHold
	// countsRemovals ones may drop a percentage of all that are selected.
	countsRemovals
	// hasExpressions ones have expressions after the selectors of predicates.
	hasExpressions
	// readsCPU and readsMemory read what clusters can allocate.
	readsCPU
	readsMemory
)

// anyScore stands for a name that is computed. No resource is called so.
const anyScore = ""

// dependenciesOf returns what a placement of a namespace reads. p is nil where the placement does not compile.
func (x *Index) dependenciesOf(s *fleet.Snapshot, namespace string, p *Program) dependencies {
	if p == nil {
		return dependencies{scope: x.scopeOf(s, namespace, nil, true), traits: mayKeep}.conservative()
	}
	out := dependencies{
		scope:      x.scopeOf(s, namespace, p.ClusterSets, p.mayKeepDecisions()),
		predicates: x.facts.conjunctions(slices.Values(p.Predicates)),
		divisions:  x.facts.conjunctions(p.divisionSelectors()),
		facets:     p.Facets(), scores: p.scores(), traits: p.traits(),
	}
	for topology := range p.topologies() {
		out.topologies = append(out.topologies, x.facts.getOrCreate(factKey{source: topology.Source, aspect: valueKept, key: topology.Key}))
	}
	return out.conservative()
}

// conservative returns a reading that reads all that changes of a cluster, where nobody can tell who is a member.
func (r dependencies) conservative() dependencies {
	if r.scope.hasInvalidSet {
		r.traits |= readsCPU | readsMemory
	}
	return r
}

func (p *Program) traits() trait {
	out := compiled
	out.add(mayKeep, p.mayKeepDecisions())
	out.add(mayHold, p.Budget != nil)
	out.add(countsRemovals, p.Budget != nil && p.Budget.Percent)
	out.add(hasExpressions, slices.ContainsFunc(p.Predicates, func(p Predicate) bool { return len(p.Expressions) > 0 }))
	out.add(readsCPU, p.HasPrioritizer(AllocatableCPU))
	out.add(readsMemory, p.HasPrioritizer(AllocatableMemory))
	return out
}

// add adds another trait where it is given.
func (t *trait) add(other trait, given bool) {
	if given {
		*t |= other
	}
}

// has says whether a trait is among several.
func (t trait) has(other trait) bool { return t&other != 0 }

// scores returns the add-on resources whose scores can change what the program decides, or anyScore.
func (p *Program) scores() []string {
	var out []string
	for _, by := range p.Prioritizers {
		if by.Kind == AddOn {
			out = append(out, by.Resource)
		}
	}
	for expression := range p.expressions() {
		names, all := expression.Scores()
		if all {
			return []string{anyScore}
		}
		out = append(out, names...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// facts yields every fact that is read, apart from those of sets.
func (r *dependencies) facts() iter.Seq[*fact] {
	return func(yield func(*fact) bool) {
		for _, list := range [][]conjunction{r.predicates, r.divisions} {
			for _, c := range list {
				for _, l := range c {
					if !yield(l.fact) {
						return
					}
				}
			}
		}
		for _, f := range r.topologies {
			if !yield(f) {
				return
			}
		}
	}
}

// guards returns facts without one of which no change matters that leaves the cluster in its sets. Ok is false where there
// are none.
func (r *dependencies) guards() (gates conjunction, ok bool) {
	reads := r.traits.has(readsCPU|readsMemory) || r.facets != 0 || len(r.divisions)+len(r.topologies) > 0
	if len(r.predicates) == 0 || r.scope.hasInvalidSet || r.traits.has(mayHold) && reads {
		return nil, false
	}
	for _, c := range r.predicates {
		gate := c.guard()
		if gate == nil {
			return nil, false
		}
		gates = append(gates, gate...)
	}
	return gates, true
}

// appendKey appends a text that two readings share exactly when they are the same.
func (r *dependencies) appendKey(to []byte) []byte {
	to = binary.AppendUvarint(to, r.scope.id)
	to = append(to, byte(r.traits))
	to = binary.AppendUvarint(to, uint64(r.facets))
	for _, list := range [][]conjunction{r.predicates, r.divisions} {
		to = binary.AppendUvarint(to, uint64(len(list)))
		for _, c := range list {
			to = binary.AppendUvarint(to, uint64(len(c)))
			for _, l := range c {
				to = append(binary.AppendUvarint(to, l.id), bit(l.negated)<<1|bit(l.last))
			}
		}
	}
	to = binary.AppendUvarint(to, uint64(len(r.topologies)))
	for _, f := range r.topologies {
		to = binary.AppendUvarint(to, f.id)
	}
	for _, score := range r.scores {
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
