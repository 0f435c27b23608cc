package live

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/builtin"
)

// SetCluster records a cluster as the API server has it.
func (w *World) SetCluster(object *clusterv1.ManagedCluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, after, changed := w.editing().SetObject(object)
	if before == nil || changed&fleet.TermFacets != 0 {
		w.publish()
		w.tellUnmanaged(w.unmanagedWith(object.Name), func() explain.Cause { return aboutCluster(object.Name, before, after) })
	}
	w.tell(w.wake, func() []fleet.Key { return w.index.ClusterChanged(w.snapshot, before, after) },
		func() explain.Cause { return aboutCluster(object.Name, before, after) })
}

// DeleteCluster records that a cluster is gone.
func (w *World) DeleteCluster(object *clusterv1.ManagedCluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.editing().DeleteCluster(object.Name)
	w.publish()
	w.tellUnmanaged(w.unmanagedWith(object.Name), func() explain.Cause { return aboutCluster(object.Name, before, nil) })
	w.tell(w.wake, func() []fleet.Key { return w.index.ClusterChanged(w.snapshot, before, nil) },
		func() explain.Cause { return aboutCluster(object.Name, before, nil) })
}

// SetScore records an add-on score.
func (w *World) SetScore(object *clusterv1alpha1.AddOnPlacementScore) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.editing().SetScore(object.Namespace, fleet.NewScore(object)) {
		w.rescore(object, changed)
	}
}

// DeleteScore records that an add-on score is gone.
func (w *World) DeleteScore(object *clusterv1alpha1.AddOnPlacementScore) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.editing().DeleteScore(object.Namespace, object.Name) {
		w.rescore(object, deleted)
	}
}

// rescore tells those who read a score.
func (w *World) rescore(object *clusterv1alpha1.AddOnPlacementScore, what string) {
	w.tell(w.scored, func() []fleet.Key {
		id, known := w.snapshot.ID(object.Namespace)
		if !known {
			return nil
		}
		return w.index.ScoreChanged(w.snapshot.Cluster(id), object.Name)
	}, func() explain.Cause { return about(kindScore, object, what) })
}

// KeepBuiltIn has the sets `default` and `global` there from now on, as they must be, whatever becomes of them on the hub: somebody
// restores them, and no decision is to change in the meantime.
func (w *World) KeepBuiltIn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.builtIn = true
	for _, name := range builtin.Names() {
		w.setSet(nil, builtin.Set(name))
	}
}

// SetSet records a cluster set. before is what the API server had, or nil for a new one.
func (w *World) SetSet(before, object *clusterv1beta2.ManagedClusterSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setSet(before, object)
}

func (w *World) setSet(before, object *clusterv1beta2.ManagedClusterSet) {
	if w.builtIn {
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
	w.editing().SetSet(fleet.NewSet(object))
	w.rebind(about(kindSet, object, what), w.namespacesOf(object.Name)...)
}

// DeleteSet records that a cluster set is gone.
func (w *World) DeleteSet(object *clusterv1beta2.ManagedClusterSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if kept := builtin.Set(object.Name); w.builtIn && kept != nil {
		w.setSet(object, kept)
		return
	}
	w.editing().DeleteSet(object.Name)
	w.rebind(about(kindSet, object, deleted), w.namespacesOf(object.Name)...)
}

// SetBinding records a binding. It is known by its name alone: the name is the set that it binds. One that is being deleted
// counts no more, whatever finalizer keeps it.
func (w *World) SetBinding(object *clusterv1beta2.ManagedClusterSetBinding) {
	if !object.DeletionTimestamp.IsZero() {
		w.DeleteBinding(object)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if put(w.boundTo, object.Name, object.Namespace) {
		w.editing().Bind(object.Namespace, object.Name)
		w.rebind(about(kindBinding, object, created), object.Namespace)
	}
}

// DeleteBinding records that a binding is gone, or being deleted.
func (w *World) DeleteBinding(object *clusterv1beta2.ManagedClusterSetBinding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, bound := w.boundTo[object.Name][object.Namespace]; !bound {
		return
	}
	drop(w.boundTo, object.Name, object.Namespace)
	w.editing().Unbind(object.Namespace, object.Name)
	w.rebind(about(kindBinding, object, deleted), object.Namespace)
}

func (w *World) namespacesOf(set string) []string {
	var out []string
	for namespace := range w.boundTo[set] {
		out = append(out, namespace)
	}
	slices.Sort(out)
	return out
}

// rebind ends a change of what the placements of namespaces may reach: they are indexed anew, and woken.
func (w *World) rebind(why explain.Cause, namespaces ...string) {
	w.publish()
	w.tell(w.wake, func() (touched []fleet.Key) {
		for _, namespace := range namespaces {
			keys := w.index.InNamespace(namespace)
			w.reindex(keys)
			touched = append(touched, keys...)
		}
		return append(touched, w.unmanagedIn(namespaces)...)
	}, func() explain.Cause { return why })
}

// put adds member to the set at key and says whether it is new there.
func put[K, M comparable](in map[K]map[M]struct{}, key K, member M) bool {
	if in[key] == nil {
		in[key] = map[M]struct{}{}
	}
	if _, there := in[key][member]; there {
		return false
	}
	in[key][member] = struct{}{}
	return true
}

// drop takes member out of the set at key.
func drop[K, M comparable](in map[K]map[M]struct{}, key K, member M) {
	delete(in[key], member)
	if len(in[key]) == 0 {
		delete(in, key)
	}
}
