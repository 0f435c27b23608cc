package wake

import "github.com/berth-project/berth/engine/fleet"

// ClusterChanged returns the placements that a change of one cluster can touch, each once and in no order. before is
// nil for a new cluster, after for a deleted one; s is the fleet after the change. The result is valid until the next
// use of the index.
func (i *Index) ClusterChanged(s *fleet.Snapshot, before, after *fleet.Cluster) []fleet.Key {
	c := compare(s, before, after)
	other := i.otherBuckets(&c)
	if !c.affectsAll() && !c.labels && len(other) == 0 { // a heartbeat
		return nil
	}
	i.begin(&c, before, after)
	defer i.facts.reset()
	return i.appendAwaiting(i.touched(&c, other), &c, after)
}

// touched returns the placements whose dependencies a change touches.
func (i *Index) touched(c *clusterChange, other []bucket) []fleet.Key {
	if c.affectsAll() || i.mayMoveMembers() {
		i.visitScopes(c)
	}
	if !c.affectsAll() {
		i.visitSmallest(c, i.factBuckets(other), i.guardBuckets(), i.scopeBuckets())
	}
	out := i.takeTouched()
	if c.createdOrDeleted {
		out = i.appendCounting(c)
	}
	return out
}

// ScoreChanged returns the placements that a change of one add-on score of a cluster can touch, each once and in no
// order. c is nil if the cluster does not exist. The result is valid until the next use of the index.
func (i *Index) ScoreChanged(c *fleet.Cluster, resource string) []fleet.Key {
	if c == nil || len(i.scores.get(resource))+len(i.scores.get(anyScore)) == 0 {
		return nil
	}
	same := compare(nil, c, c)
	i.begin(&same, c, c)
	defer i.facts.reset()
	for _, name := range []string{resource, anyScore} {
		for _, r := range i.scores.get(name) {
			r.scope.evaluate(&same)
			if r.scope.hasInvalidSet || r.scope.membership&r.passes() != never {
				i.found = append(i.found, r)
			}
		}
	}
	return i.appendAwaitingScore(i.takeTouched(), resource)
}

// begin starts a change. facts.reset ends it.
func (i *Index) begin(c *clusterChange, was, is *fleet.Cluster) {
	i.changeSeq++
	c.changeSeq = i.changeSeq
	i.facts.evaluate(was, is)
}

// otherBuckets returns the non-empty buckets of changes that are not facts.
func (i *Index) otherBuckets(c *clusterChange) []bucket {
	var out []bucket
	add := func(changed bool, list bucket) {
		if changed && len(list) > 0 {
			out = append(out, list)
		}
	}
	add(c.cpu, i.cpu)
	add(c.memory, i.memory)
	for facet := range c.facets.All() {
		add(true, i.facets.get(facet))
	}
	return out
}

// mayMoveMembers reports whether the cluster may join or leave a set.
func (i *Index) mayMoveMembers() bool {
	for _, f := range i.facts.changed {
		if f.sets > 0 {
			return true
		}
	}
	return false
}

// visitScopes visits the scopes that the cluster joins or leaves and, if the change affects all, the scopes that
// contain it.
func (i *Index) visitScopes(c *clusterChange) {
	for _, s := range i.scopes {
		s.evaluate(c)
		if s.membership.changes() || s.reachability.changes() || s.hasInvalidSet && s.readsChange() ||
			c.affectsAll() && (s.hasInvalidSet || s.membership|s.reachability != never) {
			i.visit(c, s.subscriptions)
		}
	}
}

// factBuckets returns rest and the buckets of the changed facts.
func (i *Index) factBuckets(rest []bucket) []bucket {
	out := i.lists.factBuckets[:0]
	out = append(out, rest...)
	for _, f := range i.facts.changed {
		out = append(out, f.subscriptions)
	}
	i.lists.factBuckets = out
	return out
}

// guardBuckets returns the buckets whose guard holds before or after the change, and the subscriptions without guards.
func (i *Index) guardBuckets() []bucket {
	out := i.lists.guardBuckets[:0]
	out = append(out, i.unguarded)
	for _, f := range i.facts.held {
		out = append(out, f.guarded)
	}
	i.lists.guardBuckets = out
	return out
}

// scopeBuckets returns the subscriptions of every scope that may contain the cluster.
func (i *Index) scopeBuckets() []bucket {
	out := i.lists.scopeBuckets[:0]
	for _, a := range i.sets {
		if !a.set.Valid() || a.membership() != never {
			for s := range a.scopes {
				out = append(out, s.subscriptions)
			}
		}
	}
	i.lists.scopeBuckets = out
	return out
}

// visitSmallest visits the smallest of several collections. Each contains every touched subscription that visitScopes
// has not visited.
func (i *Index) visitSmallest(c *clusterChange, of ...[]bucket) {
	fewest, least := of[0], totalSize(of[0])
	for _, lists := range of[1:] {
		if n := totalSize(lists); n < least {
			fewest, least = lists, n
		}
	}
	for _, list := range fewest {
		i.visit(c, list)
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
func (i *Index) visit(c *clusterChange, list bucket) {
	for _, r := range list {
		if r.changeSeq == c.changeSeq {
			continue
		}
		if r.changeSeq = c.changeSeq; r.touchedBy(c) {
			i.found = append(i.found, r)
		}
	}
}

// takeTouched returns the placements of the subscriptions found, and clears the list.
func (i *Index) takeTouched() []fleet.Key {
	i.keys = i.keys[:0]
	for _, r := range i.found {
		i.keys = append(i.keys, r.placements...)
	}
	clear(i.found)
	i.found = i.found[:0]
	return i.keys
}

// appendCounting adds the placements that have selected the cluster but may not choose it, and that count all selected
// clusters.
func (i *Index) appendCounting(c *clusterChange) []fleet.Key {
	for _, r := range i.countsRemovals {
		r.scope.evaluate(c)
		if r.scope.hasInvalidSet || r.scope.reachability.changes() || r.scope.membership != never {
			continue // already checked
		}
		for _, key := range r.placements {
			if c.countsAsRemoval(key) {
				i.keys = append(i.keys, key)
			}
		}
	}
	return i.keys
}
