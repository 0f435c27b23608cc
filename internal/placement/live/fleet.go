package live

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/builtin"
)

// SetCluster records a cluster from the API server.
func (w *State) SetCluster(object *clusterv1.ManagedCluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, after, changed := w.nextEdit().SetManagedCluster(object)
	if before == nil || changed&fleet.TermFacets != 0 {
		w.publish()
		w.enqueueUnmanaged(w.unmanagedWith(object.Name), func() explain.Cause { return clusterCause(object.Name, before, after) })
	}
	w.enqueueAll(w.enqueue, func() []fleet.Key { return w.index.ClusterChanged(w.snapshot, before, after) },
		func() explain.Cause { return clusterCause(object.Name, before, after) })
}

// HasClusters returns whether the state has each cluster in the given version or a newer one. Clusters that it lacks were deleted.
func (w *State) HasClusters(clusters []clusterv1.ManagedCluster) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending != nil { // before the state is ready, publish does nothing
		w.snapshot, w.pending = w.pending.Snapshot(), nil
	}
	for i := range clusters {
		id, known := w.snapshot.ID(clusters[i].Name)
		if !known {
			continue
		}
		if cluster := w.snapshot.Cluster(id); cluster != nil && newer(&clusters[i], cluster.Object) {
			return false
		}
	}
	return true
}

// DeleteCluster records that a cluster is deleted.
func (w *State) DeleteCluster(object *clusterv1.ManagedCluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.nextEdit().DeleteCluster(object.Name)
	w.publish()
	w.enqueueUnmanaged(w.unmanagedWith(object.Name), func() explain.Cause { return clusterCause(object.Name, before, nil) })
	w.enqueueAll(w.enqueue, func() []fleet.Key { return w.index.ClusterChanged(w.snapshot, before, nil) },
		func() explain.Cause { return clusterCause(object.Name, before, nil) })
}

// SetScore records an add-on score.
func (w *State) SetScore(object *clusterv1alpha1.AddOnPlacementScore) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nextEdit().SetScore(object.Namespace, fleet.NewScore(object)) {
		w.scoreChanged(object, changed)
	}
}

// DeleteScore records that an add-on score is deleted.
func (w *State) DeleteScore(object *clusterv1alpha1.AddOnPlacementScore) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nextEdit().DeleteScore(object.Namespace, object.Name) {
		w.scoreChanged(object, deleted)
	}
}

// scoreChanged enqueues the placements that read a score.
func (w *State) scoreChanged(object *clusterv1alpha1.AddOnPlacementScore, what string) {
	w.enqueueAll(w.enqueueScored, func() []fleet.Key {
		id, known := w.snapshot.ID(object.Namespace)
		if !known {
			return nil
		}
		return w.index.ScoreChanged(w.snapshot.Cluster(id), object.Name)
	}, func() explain.Cause { return causeOf(kindScore, object, what) })
}

// AssumeBuiltInSets makes the state contain the sets `default` and `global` with their required selectors from now on,
// whatever the hub holds. Call it where a controller restores them: no decision may change in the meantime.
func (w *State) AssumeBuiltInSets() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.assumeBuiltIn = true
	for _, name := range builtin.Names() {
		w.setSet(nil, builtin.Set(name))
	}
}

// SetSet records a cluster set. before is the previous object, or nil for a new set.
func (w *State) SetSet(before, object *clusterv1beta2.ManagedClusterSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setSet(before, object)
}

func (w *State) setSet(before, object *clusterv1beta2.ManagedClusterSet) {
	if w.assumeBuiltIn {
		object = builtin.Restored(object)
		if before != nil {
			before = builtin.Restored(before)
		}
	}
	if before != nil && equality.Semantic.DeepEqual(before.Spec, object.Spec) {
		return
	}
	what := changed
	if before == nil {
		what = created
	}
	w.nextEdit().SetSet(fleet.NewSet(object))
	w.bindingsChanged(causeOf(kindSet, object, what), w.namespacesOf(object.Name)...)
}

// DeleteSet records that a cluster set is deleted.
func (w *State) DeleteSet(object *clusterv1beta2.ManagedClusterSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if kept := builtin.Set(object.Name); w.assumeBuiltIn && kept != nil {
		w.setSet(object, kept)
		return
	}
	w.nextEdit().DeleteSet(object.Name)
	w.bindingsChanged(causeOf(kindSet, object, deleted), w.namespacesOf(object.Name)...)
}

// SetBinding records a binding. Its name is the name of the set. A binding that is being deleted does not count, whatever
// finalizer it has.
func (w *State) SetBinding(object *clusterv1beta2.ManagedClusterSetBinding) {
	if !object.DeletionTimestamp.IsZero() {
		w.DeleteBinding(object)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if addMember(w.boundTo, object.Name, object.Namespace) {
		w.nextEdit().Bind(object.Namespace, object.Name)
		w.bindingsChanged(causeOf(kindBinding, object, created), object.Namespace)
	}
}

// DeleteBinding records that a binding is deleted or being deleted.
func (w *State) DeleteBinding(object *clusterv1beta2.ManagedClusterSetBinding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, bound := w.boundTo[object.Name][object.Namespace]; !bound {
		return
	}
	removeMember(w.boundTo, object.Name, object.Namespace)
	w.nextEdit().Unbind(object.Namespace, object.Name)
	w.bindingsChanged(causeOf(kindBinding, object, deleted), object.Namespace)
}

func (w *State) namespacesOf(set string) []string {
	var out []string
	for namespace := range w.boundTo[set] {
		out = append(out, namespace)
	}
	slices.Sort(out)
	return out
}

// bindingsChanged ends a change of the sets that the placements of namespaces may choose from: they are indexed again and
// enqueued.
func (w *State) bindingsChanged(why explain.Cause, namespaces ...string) {
	w.publish()
	w.enqueueAll(w.enqueue, func() (touched []fleet.Key) {
		for _, namespace := range namespaces {
			keys := w.index.ByNamespace(namespace)
			w.reindex(keys)
			touched = append(touched, keys...)
		}
		return append(touched, w.unmanagedIn(namespaces)...)
	}, func() explain.Cause { return why })
}

// addMember adds a member to the set at a key and returns whether it is new.
func addMember[K, M comparable](in map[K]map[M]struct{}, key K, member M) bool {
	if in[key] == nil {
		in[key] = map[M]struct{}{}
	}
	if _, there := in[key][member]; there {
		return false
	}
	in[key][member] = struct{}{}
	return true
}

// removeMember removes a member from the set at a key.
func removeMember[K, M comparable](in map[K]map[M]struct{}, key K, member M) {
	delete(in[key], member)
	if len(in[key]) == 0 {
		delete(in, key)
	}
}
