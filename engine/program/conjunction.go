package program

import (
	"iter"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
)

// conjunction is a selector in terms of facts: clause after clause, all of which must hold.
type conjunction []literal

// literal is a fact of a clause, which holds where one of its facts does; where none is set, where none of them does.
type literal struct {
	*fact
	negated bool
	// last ends the clause.
	last bool
}

// conjunction returns a selector in terms of facts.
func (f *factTable) conjunction(s fleet.Selector) conjunction {
	var out conjunction
	for _, r := range s {
		none := r.Operator == metav1.LabelSelectorOpNotIn || r.Operator == metav1.LabelSelectorOpDoesNotExist
		if len(r.Values) == 0 {
			out = append(out, literal{f.getOrCreate(factKey{source: r.Source, aspect: keyExists, key: r.Key}), none, true})
		}
		for i, value := range r.Values {
			asked := f.getOrCreate(factKey{source: r.Source, aspect: valueEquals, key: r.Key, value: value})
			out = append(out, literal{asked, none, i == len(r.Values)-1})
		}
	}
	return out
}

// conjunctions returns several selectors in terms of facts.
func (f *factTable) conjunctions(in iter.Seq[Predicate]) []conjunction {
	var out []conjunction
	for predicate := range in {
		out = append(out, f.conjunction(predicate.Selector))
	}
	return out
}

// holds says when the selector matches.
func (c conjunction) holds() transition {
	out, clause := always, never
	for _, l := range c {
		if clause |= l.state; !l.last {
			continue
		}
		if l.negated {
			clause ^= always
		}
		if out &= clause; out == never {
			break
		}
		clause = never
	}
	return out
}

// changes says whether the selector matches at one time only.
func (c conjunction) changes() bool { return c.holds().changes() }

// readsChange says whether one of its facts changes, whatever comes of it.
func (c conjunction) readsChange() bool {
	for _, l := range c {
		if l.state.changes() {
			return true
		}
	}
	return false
}

// guard returns a clause that needs one of its facts. There is none where every clause asks for what a cluster lacks.
func (c conjunction) guard() conjunction {
	if out := c.smallestClause(valueEquals); out != nil {
		return out
	}
	return c.smallestClause(keyExists) // a label that is there, with any value, is often on every cluster
}

// smallestClause returns the clause about an aspect whose facts the fewest readers read, of those that need one of their facts.
func (c conjunction) smallestClause(about aspect) conjunction {
	var out conjunction
	least := math.MaxInt
	for begin, end := 0, 0; end < len(c); begin = end {
		readers := 0
		for ended := false; !ended; end++ {
			readers, ended = readers+len(c[end].subscriptions), c[end].last
		}
		if c[begin].aspect == about && !c[begin].negated && readers < least {
			out, least = c[begin:end], readers
		}
	}
	return out
}
