package celenv

import (
	"slices"

	"github.com/bits-and-blooms/bitset"

	"github.com/berth-project/berth/engine/fleet"
)

// maxCachedResults is how many expressions have cached outcomes; the least recently used are evicted. An expression takes
// some 5 bytes for each cluster, and 16 more for each cluster on which it failed.
const maxCachedResults = 128

// resultCache has the outcomes of an expression by ID, and the facet versions that they are valid for. It is immutable
// once it is shared.
type resultCache struct {
	states []fleet.FacetVersions
	// byAnswer has the clusters of each Answer. A cluster in no set has no cached outcome.
	byAnswer [answerCount]*bitset.BitSet
	// costs has the cost of the evaluation on each cluster, and problems its problem; both are nil if every evaluation
	// succeeded. Values of clusters without a cached outcome are meaningless.
	costs    []uint32
	problems []string
}

func newResultCache(states []fleet.FacetVersions) *resultCache {
	return &resultCache{states: states, byAnswer: NewOutcomesByAnswer().Clusters}
}

// validFor returns the outcomes that are valid for other facet versions: those of the unchanged clusters.
func (r *resultCache) validFor(states []fleet.FacetVersions) *resultCache {
	if slices.EqualFunc(r.states, states, fleet.FacetVersions.Equal) {
		return r
	}
	same := &bitset.BitSet{}
	for _, of := range r.byAnswer {
		same.InPlaceUnion(of)
	}
	for n, now := range states {
		now.RetainUnchanged(r.states[n], same)
	}
	out := &resultCache{states: states, costs: r.costs, problems: r.problems}
	for answer, of := range r.byAnswer {
		out.byAnswer[answer] = of.Intersection(same)
	}
	return out
}

// clone returns a copy that may be changed, with room for so many IDs and all cached ones. A later snapshot or another
// fleet may have more IDs.
func (r *resultCache) clone(size uint) *resultCache {
	size = max(size, uint(len(r.costs)))
	out := &resultCache{states: r.states, costs: make([]uint32, size)}
	copy(out.costs, r.costs)
	for answer, of := range r.byAnswer {
		out.byAnswer[answer] = of.Clone()
	}
	if r.problems != nil {
		out.problems = make([]string, size)
		copy(out.problems, r.problems)
	}
	return out
}

// get returns the cached outcome of a cluster. Ok is false if there is no outcome.
func (r *resultCache) get(id fleet.ID) (out Outcome, ok bool) {
	for answer, of := range r.byAnswer {
		if !of.Test(id) {
			continue
		}
		out.Answer, out.Cost = Answer(answer), uint64(r.costs[id])
		if r.problems != nil && out.Answer != Yes && out.Answer != No {
			out.Problem = r.problems[id]
		}
		return out, true
	}
	return Outcome{}, false
}

// put stores the outcome of a cluster without a cached outcome.
func (r *resultCache) put(id fleet.ID, outcome Outcome) {
	r.byAnswer[outcome.Answer].Set(id)
	r.costs[id] = uint32(outcome.Cost) //nolint:gosec // it is bounded by ExpressionCost
	if outcome.Problem == "" {
		return
	}
	if r.problems == nil {
		r.problems = make([]string, len(r.costs))
	}
	r.problems[id] = outcome.Problem
}

// Run evaluates one expression on the clusters of a snapshot. It evaluates only clusters that have changed, in a part
// that the expression reads, since the last run. The outcomes are those of Eval.
type Run struct {
	expression *Expression
	size       uint
	// results is nil if nothing is cached.
	results *resultCache
	// modified is set once results is a private copy.
	modified bool
}

// Run starts a run of the expression over a snapshot. Expressions of a trial Env use the trial cache, and expressions
// that read scores are evaluated each time, since scores expire.
func (e *Expression) Run(s *fleet.Snapshot) *Run {
	out := &Run{expression: e, size: s.IDLimit()}
	if e.trialCache != nil || e.reads.anyScore || len(e.reads.scores) > 0 {
		return out
	}
	states := s.FacetVersions(e.reads.facets)
	if hit, ok := e.results.Get(e.Text); ok {
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

// Cached returns the clusters of each answer among some clusters, and the total cost of their outcomes. Ok is false if
// the outcome of a cluster is not cached.
func (r *Run) Cached(of *bitset.BitSet) (out OutcomesByAnswer, ok bool) {
	if r.results == nil {
		return OutcomesByAnswer{}, false
	}
	found := uint(0)
	for answer, cached := range r.results.byAnswer {
		out.Clusters[answer] = of.Intersection(cached)
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

// Problem returns the cached problem of the expression on a cluster; empty if the evaluation succeeded or is not cached.
func (r *Run) Problem(id fleet.ID) string {
	if r.results == nil {
		return ""
	}
	known, _ := r.results.get(id)
	return known.Problem
}

// OutcomesByAnswer has the clusters of each Answer, and the total cost of their outcomes.
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
