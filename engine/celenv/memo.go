package celenv

import (
	"github.com/berth-project/berth/engine/fleet"
)

// rememberedExpressions is of how many expressions the outcomes are remembered, those used last: some 50 bytes for each
// cluster.
const rememberedExpressions = 128

// memo is the outcomes of an expression, by ID, each with the states of the facets that it was found for. It is never
// changed once another can see it.
type memo struct {
	states   [][]*fleet.Edit
	outcomes []Outcome
}

// Run evaluates one expression on the clusters of a snapshot, and only on those of which something that it can read
// has changed since it was last asked. The outcomes are those of Eval.
type Run struct {
	expression *Expression
	states     []fleet.States
	size       uint
	known      *memo
	// learned is set once known is a copy of its own.
	learned bool
}

// Run starts a run of the expression over a snapshot. One whose Env remembers needs no memo.
func (x *Expression) Run(s *fleet.Snapshot) *Run {
	out := &Run{expression: x, size: s.Size(), known: &memo{}}
	if x.memory != nil || x.reads.anyScore || len(x.reads.scores) > 0 {
		return out
	}
	out.states = s.States(x.reads.facets)
	if known, ok := x.memos.Get(x.Text); ok {
		out.known, _ = known.(*memo)
	}
	return out
}

// Eval returns the outcome for a cluster. An expression that reads scores is evaluated each time, since scores run out.
func (r *Run) Eval(id fleet.ID, subject func() Subject) Outcome {
	if r.recalls(id) {
		return r.known.outcomes[id]
	}
	out := r.expression.Eval(subject())
	if r.states != nil {
		r.learn(id, out)
	}
	return out
}

// recalls says whether the outcome for a cluster is known.
func (r *Run) recalls(id fleet.ID) bool {
	if r.states == nil || id >= uint(len(r.known.outcomes)) {
		return false
	}
	for n := range r.states {
		if r.known.states[n][id] != r.states[n].Of(id) {
			return false
		}
	}
	return true
}

// learn remembers an outcome, in a copy of what was known.
func (r *Run) learn(id fleet.ID, outcome Outcome) {
	if !r.learned {
		own := &memo{outcomes: make([]Outcome, r.size)}
		copy(own.outcomes, r.known.outcomes)
		for n := range r.states {
			states := make([]*fleet.Edit, r.size)
			if r.known.states != nil {
				copy(states, r.known.states[n])
			}
			own.states = append(own.states, states)
		}
		r.known, r.learned = own, true
	}
	r.known.outcomes[id] = outcome
	for n := range r.states {
		r.known.states[n][id] = r.states[n].Of(id)
	}
}

// Keep ends the run: the next one over the expression starts from what this one knows.
func (r *Run) Keep() {
	if r.learned {
		r.expression.memos.Add(r.expression.Text, r.known)
		r.learned = false
	}
}
