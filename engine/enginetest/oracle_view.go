package enginetest

import (
	"slices"
	"strings"
	"time"
)

// view is how the fleet looks to the placement if certain clusters, its seats, are the ones that it has selected. The
// next run's view of a choice is the view that has the choice for seats.
type view struct {
	*evaluator

	selected map[string]bool
	scope    scope
	// in are the candidates, fell is the verdict on everybody else.
	in       map[string]bool
	rejected map[string]string
	// held pass since an expression was too costly on them; guests would be no candidates if they had no seat.
	held, retainedOnly map[string]bool
	tier               map[string]int
	total              map[string]int
	// matched are the instants at which sets, predicates and tiers alone may say something else.
	matched []time.Time
	// rejectedByTaints counts those that a taint alone keeps out.
	rejectedByTaints int
}

// view goes through the filters and scores whoever passes them. The same seats give the same view, so it is made once.
func (r *run) view(seats map[string]bool) *view {
	id := strings.Join(names(seats), "/")
	if r.views[id] == nil {
		v := r.match(seats)
		v.matched = slices.Clone(v.rechecks)
		v.taints()
		v.score()
		r.views[id] = v
	}
	return r.views[id]
}

// match finds who is in the sets, matches a predicate and is in a tier.
func (r *run) match(seats map[string]bool) *view {
	v := &view{
		evaluator: &evaluator{run: r, expired: clustersByResource{}}, selected: seats, scope: r.candidateScope(r.spec.ClusterSets, seats),
		in: map[string]bool{}, rejected: map[string]string{}, held: map[string]bool{}, retainedOnly: map[string]bool{},
		tier: map[string]int{}, total: map[string]int{},
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

// drop takes a cluster out of the candidates.
func (v *view) drop(name, verdict string) {
	delete(v.in, name)
	v.rejected[name] = verdict
}
