package wake

import (
	"iter"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
)

// conjunction is a selector as facts: a list of clauses that must all hold.
type conjunction []literal

// literal is one fact of a clause. A clause holds if one of its facts holds; a negated clause, if none holds.
type literal struct {
	*fact
	negated bool
	// last ends the clause.
	last bool
}

// conjunction returns a selector as facts.
func (f *factTable) conjunction(s fleet.Selector) conjunction {
	var out conjunction
	for _, r := range s {
		negated := r.Operator == metav1.LabelSelectorOpNotIn || r.Operator == metav1.LabelSelectorOpDoesNotExist
		if len(r.Values) == 0 {
			out = append(out, literal{f.getOrCreate(factKey{source: r.Source, aspect: keyExists, key: r.Key}), negated, true})
		}
		for i, value := range r.Values {
			equals := f.getOrCreate(factKey{source: r.Source, aspect: valueEquals, key: r.Key, value: value})
			out = append(out, literal{equals, negated, i == len(r.Values)-1})
		}
	}
	return out
}

// conjunctions returns several selectors as facts.
func (f *factTable) conjunctions(in iter.Seq[program.Predicate]) []conjunction {
	var out []conjunction
	for predicate := range in {
		out = append(out, f.conjunction(predicate.Selector))
	}
	return out
}

// holds returns when the selector matches: before the change, after it, at both times or never.
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

// changes reports whether the selector matches at one of the two times only.
func (c conjunction) changes() bool { return c.holds().changes() }

// readsChange reports whether one of its facts changes. The selector may match as before.
func (c conjunction) readsChange() bool {
	for _, l := range c {
		if l.state.changes() {
			return true
		}
	}
	return false
}

// guard returns a clause that is not negated: the selector matches no cluster for which none of its facts holds. It is nil
// if every clause is negated.
func (c conjunction) guard() conjunction {
	if out := c.smallestClause(valueEquals); out != nil {
		return out
	}
	return c.smallestClause(keyExists) // a label that is there, with any value, is often on every cluster
}

// smallestClause returns the clause of an aspect, not negated, whose facts have the fewest subscriptions.
func (c conjunction) smallestClause(about aspect) conjunction {
	var out conjunction
	least := math.MaxInt
	for begin, end := 0, 0; end < len(c); begin = end {
		subscriptions := 0
		for ended := false; !ended; end++ {
			subscriptions, ended = subscriptions+len(c[end].subscriptions), c[end].last
		}
		if c[begin].aspect == about && !c[begin].negated && subscriptions < least {
			out, least = c[begin:end], subscriptions
		}
	}
	return out
}
