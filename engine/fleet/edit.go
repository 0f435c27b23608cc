package fleet

import (
	"slices"

	"github.com/tidwall/btree"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// Edit makes a new snapshot out of another. Each method applies one change; Snapshot ends the edit.
type Edit struct {
	next *Snapshot
}

// Edit starts an edit of s, which stays as it is.
func (s *Snapshot) Edit() *Edit {
	next := *s
	next.ids = *clone(s.ids)
	next.terms = *clone(s.terms)
	next.sets = *clone(s.sets)
	next.bindings = *clone(s.bindings)
	next.decisions = *clone(s.decisions)
	next.withdrawn = *clone(s.withdrawn)
	next.free = slices.Clone(s.free)
	return &Edit{next: &next}
}

// clone takes the map by value, because copying writes to its receiver and a snapshot may have several editors.
func clone[K ~string, V any](m btree.Map[K, V]) *btree.Map[K, V] {
	return m.Copy()
}

// Snapshot ends the edit and returns its result. The edit must not be used afterwards.
func (e *Edit) Snapshot() *Snapshot {
	out := e.next
	e.next = nil
	if out.nameOrder == nil {
		out.nameOrder = newNameOrder(out)
	}
	return out
}

// Cluster returns a cluster as the edit has it, nil if it does not exist, and whether a placement has selected it.
func (e *Edit) Cluster(name string) (cluster *Cluster, selected bool) {
	id, known := e.next.ID(name)
	if !known {
		return nil, false
	}
	return e.next.Cluster(id), e.next.DecisionCount(id) > 0
}

// SetCluster adds a cluster or replaces the cluster of the same name. It returns the replaced cluster, or nil.
func (e *Edit) SetCluster(c *Cluster) (before *Cluster) {
	id, old := e.row(c.Name())
	e.replace(id, old, c)
	return old.cluster
}

// SetManagedCluster adds or replaces a cluster, and shares the parts that are unchanged. Stored is nil, or the object as the API server has
// it if object still has a label or claim that is being withdrawn. It returns the replaced cluster, or nil, and the facets in which the two
// differ.
func (e *Edit) SetManagedCluster(object, stored *clusterv1.ManagedCluster) (before, after *Cluster, changed Facet) {
	id, old := e.row(object.Name)
	if old.cluster == nil {
		after = NewCluster(object)
	} else {
		after = old.cluster.WithObject(object)
	}
	if stored != nil {
		after.Stored = NewCluster(stored)
	}
	return old.cluster, after, e.replace(id, old, after)
}

// replace puts a cluster into a row, and returns the facets in which it differs from the cluster before.
func (e *Edit) replace(id ID, old *row, c *Cluster) (changed Facet) {
	e.next.rows.set(e, id, &row{cluster: c, scores: old.scores})
	e.setAllocatable(id, c.CPU, c.Memory)
	changed = e.markChanged(id, old.cluster, c)
	if changed&TermFacets != 0 || old.cluster.Withdrawing() != c.Withdrawing() {
		e.reindex(id, old.cluster, c)
	}
	return changed
}

// DeleteCluster removes a cluster and returns it; nil if it does not exist.
func (e *Edit) DeleteCluster(name string) (before *Cluster) {
	id, ok := e.next.ID(name)
	if !ok {
		return nil
	}
	old := e.next.rows.at(id)
	e.next.rows.set(e, id, &row{scores: old.scores})
	e.setAllocatable(id, Allocatable{}, Allocatable{})
	e.reindex(id, old.cluster, nil)
	e.releaseID(id)
	return old.cluster
}

// setAllocatable keeps what a cluster can allocate.
func (e *Edit) setAllocatable(id ID, cpu, memory Allocatable) {
	if e.next.cpu.at(id) != cpu {
		e.next.cpu.set(e, id, cpu)
	}
	if e.next.memory.at(id) != memory {
		e.next.memory.set(e, id, memory)
	}
}

// SetScore adds or replaces the score of one add-on resource for a cluster. It returns whether that changed anything.
func (e *Edit) SetScore(cluster string, score *Score) bool {
	id, old := e.row(cluster)
	scores := slices.Clone(old.scores)
	at, found := scoreIndex(scores, score.Resource)
	if found {
		if scores[at].equal(score) {
			return false
		}
		scores[at] = score
	} else {
		scores = slices.Insert(scores, at, score)
	}
	e.next.rows.set(e, id, &row{cluster: old.cluster, scores: scores})
	return true
}

// Score returns the score of an add-on resource for a cluster as the edit has it, also a score that is gone; nil for an unknown score.
func (e *Edit) Score(cluster, resource string) *Score {
	id, known := e.next.ID(cluster)
	if !known {
		return nil
	}
	return e.next.score(id, resource)
}

// ForgetGoneScores removes what is known of scores of a cluster that no longer exist.
func (e *Edit) ForgetGoneScores(cluster string) {
	id, known := e.next.ID(cluster)
	if !known {
		return
	}
	for _, score := range slices.Clone(e.next.rows.at(id).scores) {
		if score.Gone {
			e.DeleteScore(cluster, score.Resource)
		}
	}
}

// DeleteScore removes the score of one add-on resource for a cluster. It returns whether there was one.
func (e *Edit) DeleteScore(cluster, resource string) bool {
	id, ok := e.next.ID(cluster)
	if !ok {
		return false
	}
	old := e.next.rows.at(id)
	at, found := scoreIndex(old.scores, resource)
	if !found {
		return false
	}
	scores := slices.Delete(slices.Clone(old.scores), at, at+1)
	e.next.rows.set(e, id, &row{cluster: old.cluster, scores: scores})
	e.releaseID(id)
	return true
}

// SetSet adds or replaces a set. It ends a withdrawal of the set.
func (e *Edit) SetSet(set *Set) {
	e.next.sets.Set(set.Name, set)
	e.next.withdrawn.Delete(withdrawnSet(set.Name))
}

// DeleteSet removes a set. Bindings that name it stay.
func (e *Edit) DeleteSet(name string) {
	e.next.sets.Delete(name)
	e.next.withdrawn.Delete(withdrawnSet(name))
}

// WithdrawSet records that a set is being withdrawn: its members stay where they are selected, and are selected nowhere else.
func (e *Edit) WithdrawSet(name string) { e.next.withdrawn.Set(withdrawnSet(name), struct{}{}) }

// WithdrawBinding records that a binding is being withdrawn: the members of its set stay selected in the namespace, and no other is
// selected through it.
func (e *Edit) WithdrawBinding(namespace, set string) {
	e.next.withdrawn.Set(withdrawnBinding(namespace, set), struct{}{})
}

// Bind records that a namespace has a binding of the given name. It ends a withdrawal of the binding.
func (e *Edit) Bind(namespace, set string) {
	e.next.withdrawn.Delete(withdrawnBinding(namespace, set))
	sets := e.ownBoundSets(namespace)
	if at, found := slices.BinarySearch(sets, set); !found {
		e.next.bindings.Set(namespace, boundSets{e, slices.Insert(sets, at, set)})
	}
}

// ownBoundSets returns the sets that a namespace binds, in a list that this edit may change. Several bindings in one
// edit copy the list once.
func (e *Edit) ownBoundSets(namespace string) []string {
	found, _ := e.next.bindings.Get(namespace)
	if found.owner == e {
		return found.sets
	}
	return slices.Clone(found.sets)
}

// Unbind records that a namespace no longer has a binding of the given name.
func (e *Edit) Unbind(namespace, set string) {
	e.next.withdrawn.Delete(withdrawnBinding(namespace, set))
	sets := e.ownBoundSets(namespace)
	at, found := slices.BinarySearch(sets, set)
	switch {
	case !found:
	case len(sets) == 1:
		e.next.bindings.Delete(namespace)
	default:
		e.next.bindings.Set(namespace, boundSets{e, slices.Delete(sets, at, at+1)})
	}
}

// SetSlices replaces the decisions of a placement. An empty list removes the placement. It returns whether that changed
// anything.
func (e *Edit) SetSlices(key Key, in []Slice) bool {
	in = sortSlices(in)
	if slices.EqualFunc(in, e.next.Slices(key), Slice.equal) {
		return false
	}
	before := e.next.Incumbents(key)
	after := e.internSlices(in)
	e.updateDecisionCounts(before, after.all)
	if len(in) == 0 {
		e.next.decisions.Delete(key.String())
	} else {
		e.next.decisions.Set(key.String(), after)
	}
	return true
}

// internSlices returns slices with IDs for names, and adds the names that are new. It takes ownership of the slices.
func (e *Edit) internSlices(in []Slice) *placementDecisions {
	count := 0
	for _, slice := range in {
		count += len(slice.Clusters)
	}
	out, ids := &placementDecisions{slices: in, members: make([][]uint32, len(in))}, make([]uint32, 0, count)
	for n, slice := range in {
		first := len(ids)
		for _, name := range slice.Clusters {
			id, _ := e.row(name)
			ids = append(ids, uint32(id)) //nolint:gosec // bounded by the number of clusters
		}
		out.members[n], in[n].Clusters = ids[first:], nil
	}
	out.all = newIDSet(ids)
	return out
}

// updateDecisionCounts moves the decision count of every cluster in before and after.
func (e *Edit) updateDecisionCounts(before, after IDSet) {
	for id := range after.All() {
		if !before.Has(id) {
			e.addDecisionCount(id, +1)
		}
	}
	for id := range before.All() {
		if !after.Has(id) {
			e.addDecisionCount(id, -1)
			e.releaseID(id)
		}
	}
}

// addDecisionCount adds by, +1 or -1, to the decision count of a cluster. If no cluster has the maximum count any more,
// this cluster was the last with it and now has one less.
func (e *Edit) addDecisionCount(id ID, by int32) {
	before := e.next.decisionCounts.at(id)
	after := before + by
	e.next.decisionCounts.set(e, id, after)
	e.addToHistogram(before, -1)
	e.addToHistogram(after, +1)
	if after > e.next.maxDecisionCount || e.next.histogram.at(ID(e.next.maxDecisionCount)) == 0 { //nolint:gosec // a count is not negative
		e.next.maxDecisionCount = after
	}
}

// addToHistogram adds by to the number of clusters with a decision count. Count 0 is left out.
func (e *Edit) addToHistogram(count, by int32) {
	if count > 0 {
		at := ID(count)
		e.next.histogram.set(e, at, e.next.histogram.at(at)+by)
	}
}

// row returns the row of a name, and makes a row if it is missing.
func (e *Edit) row(name string) (ID, *row) {
	if id, ok := e.next.ID(name); ok {
		return id, e.next.rows.at(id)
	}
	id := e.next.idLimit
	if last := len(e.next.free) - 1; last >= 0 {
		id, e.next.free = e.next.free[last], e.next.free[:last]
	} else {
		e.next.idLimit++
	}
	made := &row{}
	e.next.rows.set(e, id, made)
	e.next.ids.Set(name, id)
	e.next.names.set(e, id, name)
	e.next.nameOrder = nil
	return id, made
}

// releaseID frees an ID to which nothing refers any more.
func (e *Edit) releaseID(id ID) {
	old := e.next.rows.at(id)
	if old.cluster != nil || len(old.scores) > 0 || e.next.decisionCounts.at(id) > 0 {
		return
	}
	name := e.next.Name(id)
	e.next.ids.Delete(name)
	e.next.names.set(e, id, "")
	e.next.nameOrder = nil
	e.next.rows.set(e, id, nil)
	e.next.free = append(e.next.free, id)
}

// reindex moves id from the terms that held before to those that hold after.
func (e *Edit) reindex(id ID, before, after *Cluster) {
	if sameTerms(before, after) {
		return
	}
	for _, term := range difference(before.terms(), after.terms()) {
		e.removeFromTerm(term, id)
	}
	for _, term := range difference(after.terms(), before.terms()) {
		e.ownTerm(term).add(id)
	}
}

func (e *Edit) removeFromTerm(term Term, id ID) {
	holding := e.ownTerm(term)
	holding.remove(id)
	if holding.Count() == 0 {
		e.next.terms.Delete(term)
	}
}

// ownTerm returns the clusters of a term as a set that this edit may change.
func (e *Edit) ownTerm(term Term) *IDSet {
	found, ok := e.next.terms.Get(term)
	switch {
	case !ok:
		found = &posting{owner: e}
	case found.owner == e:
		return &found.IDSet
	default:
		found = &posting{owner: e, IDSet: found.clone()}
	}
	e.next.terms.Set(term, found)
	return &found.IDSet
}
