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
	none bool
	// last ends the clause.
	last bool
}

// conjunction returns a selector in terms of facts.
func (f *facts) conjunction(s fleet.Selector) conjunction {
	var out conjunction
	for _, r := range s {
		none := r.Operator == metav1.LabelSelectorOpNotIn || r.Operator == metav1.LabelSelectorOpDoesNotExist
		if len(r.Values) == 0 {
			out = append(out, literal{f.of(question{source: r.Source, about: anyValue, key: r.Key}), none, true})
		}
		for i, value := range r.Values {
			asked := f.of(question{source: r.Source, about: thisValue, key: r.Key, value: value})
			out = append(out, literal{asked, none, i == len(r.Values)-1})
		}
	}
	return out
}

// conjunctions returns several selectors in terms of facts.
func (f *facts) conjunctions(in iter.Seq[Predicate]) []conjunction {
	var out []conjunction
	for predicate := range in {
		out = append(out, f.conjunction(predicate.Selector))
	}
	return out
}

// holds says when the selector matches.
func (c conjunction) holds() times {
	out, clause := always, never
	for _, l := range c {
		if clause |= l.held; !l.last {
			continue
		}
		if l.none {
			clause ^= always
		}
		if out &= clause; out == never {
			break
		}
		clause = never
	}
	return out
}

// differs says whether the selector matches at one time only.
func (c conjunction) differs() bool { return c.holds().differs() }

// reads says whether one of its facts changes, whatever comes of it.
func (c conjunction) reads() bool {
	for _, l := range c {
		if l.held.differs() {
			return true
		}
	}
	return false
}

// gate returns a clause that needs one of its facts. There is none where every clause asks for what a cluster lacks.
func (c conjunction) gate() conjunction {
	if out := c.narrowest(thisValue); out != nil {
		return out
	}
	return c.narrowest(anyValue) // a label that is there, with any value, is often on every cluster
}

// narrowest returns the clause about an aspect whose facts the fewest readers read, of those that need one of their facts.
func (c conjunction) narrowest(about aspect) conjunction {
	var out conjunction
	least := math.MaxInt
	for begin, end := 0, 0; end < len(c); begin = end {
		readers := 0
		for ended := false; !ended; end++ {
			readers, ended = readers+len(c[end].readers), c[end].last
		}
		if c[begin].about == about && !c[begin].none && readers < least {
			out, least = c[begin:end], readers
		}
	}
	return out
}
