package celenv

import (
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// maxCachedResults is of how many expressions the outcomes are remembered, those used last: some 5 bytes for each
// cluster, and 16 more where one failed.
const maxCachedResults = 128

// resultCache is the outcomes of an expression, by ID, and the states of the facets that they were found for. It is never changed
// once another can see it.
type resultCache struct {
	states []fleet.FacetVersions
	// byAnswer are, by Answer, the clusters of which that is known.
	byAnswer [answerCount]*bitset.BitSet
	// costs has what the evaluation on each of them cost, and problems what came of it; those are nil where nothing went
	// wrong. What they hold of clusters of which nothing is known means nothing.
	costs    []uint32
	problems []string
}

func newResultCache(states []fleet.FacetVersions) *resultCache {
	return &resultCache{states: states, byAnswer: NewOutcomesByAnswer().Clusters}
}

// validFor returns what is known still where the facets have other states: nothing of those clusters that have changed.
func (m *resultCache) validFor(states []fleet.FacetVersions) *resultCache {
	if slices.EqualFunc(m.states, states, fleet.FacetVersions.Equal) {
		return m
	}
	same := m.byAnswer[Yes].Union(m.byAnswer[No])
	same.InPlaceUnion(m.byAnswer[Failed])
	same.InPlaceUnion(m.byAnswer[TooCostly])
	for n, now := range states {
		now.RetainUnchanged(m.states[n], same)
	}
	out := &resultCache{states: states, costs: m.costs, problems: m.problems}
	for answer, of := range m.byAnswer {
		out.byAnswer[answer] = of.Intersection(same)
	}
	return out
}

// clone returns a copy that may be changed, with room for so many IDs and all that are known: those of another fleet or of a
// later snapshot may be more.
func (m *resultCache) clone(size uint) *resultCache {
	size = max(size, uint(len(m.costs)))
	out := &resultCache{states: m.states, costs: make([]uint32, size)}
	copy(out.costs, m.costs)
	for answer, of := range m.byAnswer {
		out.byAnswer[answer] = of.Clone()
	}
	if m.problems != nil {
		out.problems = make([]string, size)
		copy(out.problems, m.problems)
	}
	return out
}

// get returns what is known of a cluster. Ok is false where nothing is.
func (m *resultCache) get(id fleet.ID) (out Outcome, ok bool) {
	for answer, of := range m.byAnswer {
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

// put notes what came out for a cluster of which nothing was known.
func (m *resultCache) put(id fleet.ID, outcome Outcome) {
	m.byAnswer[outcome.Answer].Set(id)
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
	// results is nil where nothing is remembered.
	results *resultCache
	// modified is set once known is a copy of its own.
	modified bool
}

// Run starts a run of the expression over a snapshot. Expressions of a trial Env use the trial cache, and expressions
// that read scores are evaluated each time, since scores expire.
func (x *Expression) Run(s *fleet.Snapshot) *Run {
	out := &Run{expression: x, size: s.IDLimit()}
	if x.trialCache != nil || x.reads.anyScore || len(x.reads.scores) > 0 {
		return out
	}
	states := s.FacetVersions(x.reads.facets)
	if hit, ok := x.results.Get(x.Text); ok {
		known, _ := hit.(*resultCache)
		out.results = known.validFor(states)
	} else {
		out.results = newResultCache(states)
	}
	return out
}

// Eval returns the outcome for a cluster.
func (r *Run) Eval(id fleet.ID, subject func() Subject) Outcome {
	if r.results == nil {
		return r.expression.Eval(subject())
	}
	if known, ok := r.results.get(id); ok {
		return known
	}
	out := r.expression.Eval(subject())
	if !r.modified {
		r.results, r.modified = r.results.clone(r.size), true
	}
	r.results.put(id, out)
	return out
}

// Cached returns which of some clusters each answer is for, and what the outcomes cost together. Ok is false where one of
// them is not known before the expression is evaluated.
func (r *Run) Cached(of *bitset.BitSet) (out OutcomesByAnswer, ok bool) {
	if r.results == nil {
		return OutcomesByAnswer{}, false
	}
	found := uint(0)
	for answer, said := range r.results.byAnswer {
		out.Clusters[answer] = of.Intersection(said)
		found += out.Clusters[answer].Count()
	}
	if found < of.Count() {
		return OutcomesByAnswer{}, false
	}
	for id := range of.EachSet() {
		out.Cost += uint64(r.results.costs[id])
	}
	return out, true
}

// Problem returns what came of the expression on a cluster, where that is remembered; empty where nothing went wrong.
func (r *Run) Problem(id fleet.ID) string {
	if r.results == nil {
		return ""
	}
	known, _ := r.results.get(id)
	return known.Problem
}

// OutcomesByAnswer is the outcomes for some clusters: those that got each Answer, and what that cost together.
type OutcomesByAnswer struct {
	Clusters [answerCount]*bitset.BitSet
	Cost     uint64
}

// NewOutcomesByAnswer returns an empty result.
func NewOutcomesByAnswer() OutcomesByAnswer {
	var out OutcomesByAnswer
	for answer := range out.Clusters {
		out.Clusters[answer] = &bitset.BitSet{}
	}
	return out
}

// Store ends the run and caches its outcomes for the next run of the expression.
func (r *Run) Store() {
	if r.modified {
		r.expression.results.Add(r.expression.Text, r.results)
		r.modified = false
	}
}
