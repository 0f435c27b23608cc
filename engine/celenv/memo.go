package celenv

import (
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// rememberedExpressions is of how many expressions the outcomes are remembered, those used last: some 5 bytes for each
// cluster, and 16 more where one failed.
const rememberedExpressions = 128

// memo is the outcomes of an expression, by ID, and the states of the facets that they were found for. It is never changed
// once another can see it.
type memo struct {
	states []fleet.States
	// said are, by Answer, the clusters of which that is known.
	said [answers]*bitset.BitSet
	// costs has what the evaluation on each of them cost, and problems what came of it; those are nil where nothing went
	// wrong. What they hold of clusters of which nothing is known means nothing.
	costs    []uint32
	problems []string
}

func newMemo(states []fleet.States) *memo {
	return &memo{states: states, said: NewSplit().Clusters}
}

// at returns what is known still where the facets have other states: nothing of those clusters that have changed.
func (m *memo) at(states []fleet.States) *memo {
	if slices.EqualFunc(m.states, states, fleet.States.Equal) {
		return m
	}
	same := m.said[Yes].Union(m.said[No])
	same.InPlaceUnion(m.said[Failed])
	same.InPlaceUnion(m.said[TooCostly])
	for n, now := range states {
		now.Keep(m.states[n], same)
	}
	out := &memo{states: states, costs: m.costs, problems: m.problems}
	for answer, of := range m.said {
		out.said[answer] = of.Intersection(same)
	}
	return out
}

// own returns a copy that may be changed, with room for so many IDs and all that are known: those of another fleet or of a
// later snapshot may be more.
func (m *memo) own(size uint) *memo {
	size = max(size, uint(len(m.costs)))
	out := &memo{states: m.states, costs: make([]uint32, size)}
	copy(out.costs, m.costs)
	for answer, of := range m.said {
		out.said[answer] = of.Clone()
	}
	if m.problems != nil {
		out.problems = make([]string, size)
		copy(out.problems, m.problems)
	}
	return out
}

// outcome returns what is known of a cluster. Ok is false where nothing is.
func (m *memo) outcome(id fleet.ID) (out Outcome, ok bool) {
	for answer, of := range m.said {
		if !of.Test(id) {
			continue
		}
		out.Answer, out.Cost = Answer(answer), uint64(m.costs[id])
		if m.problems != nil && out.Answer != Yes && out.Answer != No {
			out.Problem = m.problems[id]
		}
		return out, true
	}
	return Outcome{}, false
}

// note notes what came out for a cluster of which nothing was known.
func (m *memo) note(id fleet.ID, outcome Outcome) {
	m.said[outcome.Answer].Set(id)
	m.costs[id] = uint32(outcome.Cost) //nolint:gosec // it is bounded by ExpressionCost
	if outcome.Problem == "" {
		return
	}
	if m.problems == nil {
		m.problems = make([]string, len(m.costs))
	}
	m.problems[id] = outcome.Problem
}

// Run evaluates one expression on the clusters of a snapshot, and only on those of which something that it can read
// has changed since it was last asked. The outcomes are those of Eval.
type Run struct {
	expression *Expression
	size       uint
	// known is nil where nothing is remembered.
	known *memo
	// learned is set once known is a copy of its own.
	learned bool
}

// Run starts a run of the expression over a snapshot. One whose Env remembers needs no memo. One that reads scores is
// evaluated each time, since scores run out.
func (x *Expression) Run(s *fleet.Snapshot) *Run {
	out := &Run{expression: x, size: s.Size()}
	if x.memory != nil || x.reads.anyScore || len(x.reads.scores) > 0 {
		return out
	}
	states := s.States(x.reads.facets)
	if hit, ok := x.memos.Get(x.Text); ok {
		known, _ := hit.(*memo)
		out.known = known.at(states)
	} else {
		out.known = newMemo(states)
	}
	return out
}

// Eval returns the outcome for a cluster.
func (r *Run) Eval(id fleet.ID, subject func() Subject) Outcome {
	if r.known == nil {
		return r.expression.Eval(subject())
	}
	if known, ok := r.known.outcome(id); ok {
		return known
	}
	out := r.expression.Eval(subject())
	if !r.learned {
		r.known, r.learned = r.known.own(r.size), true
	}
	r.known.note(id, out)
	return out
}

// Known returns which of some clusters each answer is for, and what the outcomes cost together. Ok is false where one of
// them is not known before the expression is evaluated.
func (r *Run) Known(of *bitset.BitSet) (out Split, ok bool) {
	if r.known == nil {
		return Split{}, false
	}
	found := uint(0)
	for answer, said := range r.known.said {
		out.Clusters[answer] = of.Intersection(said)
		found += out.Clusters[answer].Count()
	}
	if found < of.Count() {
		return Split{}, false
	}
	for id := range of.EachSet() {
		out.Cost += uint64(r.known.costs[id])
	}
	return out, true
}

// Problem returns what came of the expression on a cluster, where that is remembered; empty where nothing went wrong.
func (r *Run) Problem(id fleet.ID) string {
	if r.known == nil {
		return ""
	}
	known, _ := r.known.outcome(id)
	return known.Problem
}

// Split is the outcomes for some clusters: those that got each Answer, and what that cost together.
type Split struct {
	Clusters [answers]*bitset.BitSet
	Cost     uint64
}

// NewSplit returns a split of nobody.
func NewSplit() Split {
	var out Split
	for answer := range out.Clusters {
		out.Clusters[answer] = &bitset.BitSet{}
	}
	return out
}

// Keep ends the run: the next one over the expression starts from what this one knows.
func (r *Run) Keep() {
	if r.learned {
		r.expression.memos.Add(r.expression.Text, r.known)
		r.learned = false
	}
}
