package wake

import "github.com/berth-project/berth/engine/fleet"

// ClusterChanged returns the placements that a change of one cluster can touch, each once and in no order. before is
// nil for a new cluster, after for a deleted one; s is the fleet after the change. The result is valid until the next
// use of the index.
func (x *Index) ClusterChanged(s *fleet.Snapshot, before, after *fleet.Cluster) []fleet.Key {
	c := compare(s, before, after)
	other := x.otherBuckets(&c)
	if !c.affectsAll() && !c.labels && len(other) == 0 { // a heartbeat
		return nil
	}
	x.begin(&c, before, after)
	defer x.facts.reset()
	if c.affectsAll() || x.mayMoveMembers() {
		x.visitScopes(&c)
	}
	if !c.affectsAll() {
		x.visitSmallest(&c, x.factBuckets(other), x.guardBuckets(), x.scopeBuckets())
	}
	out := x.takeTouched()
	if c.createdOrDeleted {
		out = x.appendCounting(&c)
	}
	return out
}

// ScoreChanged returns the placements that a change of one add-on score of a cluster can touch, each once and in no
// order. c is nil if the cluster does not exist. The result is valid until the next use of the index.
func (x *Index) ScoreChanged(c *fleet.Cluster, resource string) []fleet.Key {
	if c == nil || len(x.scores.get(resource))+len(x.scores.get(anyScore)) == 0 {
		return nil
	}
	same := compare(nil, c, c)
	x.begin(&same, c, c)
	defer x.facts.reset()
	for _, name := range []string{resource, anyScore} {
		for _, r := range x.scores.get(name) {
			r.scope.evaluate(&same)
			if r.scope.hasInvalidSet || r.scope.membership&r.passes() != never {
				x.found = append(x.found, r)
			}
		}
	}
	return x.takeTouched()
}

// begin starts a change. facts.reset ends it.
func (x *Index) begin(c *clusterChange, was, is *fleet.Cluster) {
	x.changeSeq++
	c.changeSeq = x.changeSeq
	x.facts.evaluate(was, is)
}

// otherBuckets returns the non-empty buckets of changes that are not facts.
func (x *Index) otherBuckets(c *clusterChange) []bucket {
	var out []bucket
	add := func(changed bool, list bucket) {
		if changed && len(list) > 0 {
			out = append(out, list)
		}
	}
	add(c.cpu, x.cpu)
	add(c.memory, x.memory)
	for facet := range c.facets.All() {
		add(true, x.facets.get(facet))
	}
	return out
}

// mayMoveMembers reports whether the cluster may join or leave a set.
func (x *Index) mayMoveMembers() bool {
	for _, f := range x.facts.changed {
		if f.sets > 0 {
			return true
		}
	}
	return false
}

// visitScopes visits the scopes that the cluster joins or leaves and, if the change affects all, the scopes that
// contain it.
func (x *Index) visitScopes(c *clusterChange) {
	for _, s := range x.scopes {
		s.evaluate(c)
		if s.membership.changes() || s.reachability.changes() || s.hasInvalidSet && s.readsChange() || c.affectsAll() && (s.hasInvalidSet || s.membership|s.reachability != never) {
			x.visit(c, s.subscriptions)
		}
	}
}

// factBuckets returns rest and the buckets of the changed facts.
func (x *Index) factBuckets(rest []bucket) []bucket {
	out := x.lists.factBuckets[:0]
	out = append(out, rest...)
	for _, f := range x.facts.changed {
		out = append(out, f.subscriptions)
	}
	x.lists.factBuckets = out
	return out
}

// guardBuckets returns the buckets whose guard holds before or after the change, and the subscriptions without guards.
func (x *Index) guardBuckets() []bucket {
	out := x.lists.guardBuckets[:0]
	out = append(out, x.unguarded)
	for _, f := range x.facts.held {
		out = append(out, f.guarded)
	}
	x.lists.guardBuckets = out
	return out
}

// scopeBuckets returns the subscriptions of every scope that may contain the cluster.
func (x *Index) scopeBuckets() []bucket {
	out := x.lists.scopeBuckets[:0]
	for _, a := range x.sets {
		if !a.set.Valid() || a.membership() != never {
			for s := range a.scopes {
				out = append(out, s.subscriptions)
			}
		}
	}
	x.lists.scopeBuckets = out
	return out
}

// visitSmallest visits the smallest of several collections. Each contains every touched subscription that visitScopes
// has not visited.
func (x *Index) visitSmallest(c *clusterChange, of ...[]bucket) {
	fewest, least := of[0], totalSize(of[0])
	for _, lists := range of[1:] {
		if n := totalSize(lists); n < least {
			fewest, least = lists, n
		}
	}
	for _, list := range fewest {
		x.visit(c, list)
	}
}

func totalSize(lists []bucket) int {
	out := 0
	for _, list := range lists {
		out += len(list)
	}
	return out
}

// visit checks subscriptions, each once per change.
func (x *Index) visit(c *clusterChange, list bucket) {
	for _, r := range list {
		if r.changeSeq == c.changeSeq {
			continue
		}
		if r.changeSeq = c.changeSeq; r.touchedBy(c) {
			x.found = append(x.found, r)
		}
	}
}

// takeTouched returns the placements of the subscriptions found, and clears the list.
func (x *Index) takeTouched() []fleet.Key {
	x.keys = x.keys[:0]
	for _, r := range x.found {
		x.keys = append(x.keys, r.placements...)
	}
	clear(x.found)
	x.found = x.found[:0]
	return x.keys
}

// appendCounting adds the placements that have selected the cluster but may not choose it, and that count all selected
// clusters.
func (x *Index) appendCounting(c *clusterChange) []fleet.Key {
	for _, r := range x.countsRemovals {
		r.scope.evaluate(c)
		if r.scope.hasInvalidSet || r.scope.reachability.changes() || r.scope.membership != never {
			continue // already checked
		}
		for _, key := range r.placements {
			if c.countsAsRemoval(key) {
				x.keys = append(x.keys, key)
			}
		}
	}
	return x.keys
}
