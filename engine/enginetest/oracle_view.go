package enginetest

import (
	"slices"
	"strings"
	"time"
)

// view is the fleet as a placement finds it if it has selected certain clusters. The view of the next run is the view with the
// choice as the selected clusters.
type view struct {
	*evaluator

	selected map[string]bool
	scope    scope
	// in are the candidates, rejected has the verdict on all other clusters.
	in       map[string]bool
	rejected map[string]string
	// held qualify because an expression was too costly on them; retainedOnly qualify only as incumbents.
	held, retainedOnly map[string]bool
	// failing are selected clusters that qualify as little as those that do not match, because a claim or score is missing.
	failing map[string]string
	tier    map[string]int
	total   map[string]int
	// matched are the instants at which sets, predicates and tiers may give another result.
	matched []time.Time
	// rejectedByTaints counts the clusters that only a taint rejects.
	rejectedByTaints int
}

// view applies the filters and scores the candidates. It is computed once for the same selected clusters.
func (r *run) view(incumbents map[string]bool) *view {
	id := strings.Join(names(incumbents), "/")
	if r.views[id] == nil {
		v := r.match(incumbents)
		v.matched = slices.Clone(v.rechecks)
		v.taints()
		v.score()
		r.views[id] = v
	}
	return r.views[id]
}

// match finds the clusters that are in the sets, match a predicate and are in a tier.
func (r *run) match(incumbents map[string]bool) *view {
	v := &view{
		evaluator: &evaluator{run: r, expired: clustersByResource{}}, selected: incumbents,
		scope: r.candidateScope(r.spec.ClusterSets, incumbents),
		in:    map[string]bool{}, rejected: map[string]string{}, held: map[string]bool{}, retainedOnly: map[string]bool{},
		failing: map[string]string{},
		tier:    map[string]int{}, total: map[string]int{},
	}
	for name, cluster := range r.w.Clusters {
		if !v.scope.candidates[name] {
			v.rejected[name] = outside(cluster)
		}
	}
	if v.predicates(); v.failure == "" {
		v.tiers()
	}
	return v
}

// drop rejects a candidate.
func (v *view) drop(name, verdict string) {
	delete(v.in, name)
	v.rejected[name] = verdict
}
