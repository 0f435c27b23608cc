package live

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
)

// SetCluster records a cluster as the API server has it.
func (w *World) SetCluster(object *clusterv1.ManagedCluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	after := w.read(object)
	var before *fleet.Cluster
	w.change(func(e *fleet.Edit) { before = e.SetCluster(after) }, func() []fleet.Key {
		return w.index.ClusterChanged(w.snapshot, before, after)
	}, func() explain.Cause { return aboutCluster(object.Name, before, after) })
}

// read reads a cluster, of which mostly a state is known already.
func (w *World) read(object *clusterv1.ManagedCluster) *fleet.Cluster {
	if w.snapshot != nil {
		if id, known := w.snapshot.ID(object.Name); known {
			if before := w.snapshot.Cluster(id); before != nil {
				return before.Next(object)
			}
		}
	}
	return fleet.NewCluster(object)
}

// DeleteCluster records that a cluster is gone.
func (w *World) DeleteCluster(object *clusterv1.ManagedCluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var before *fleet.Cluster
	w.change(func(e *fleet.Edit) { before = e.DeleteCluster(object.Name) }, func() []fleet.Key {
		return w.index.ClusterChanged(w.snapshot, before, nil)
	}, func() explain.Cause { return aboutCluster(object.Name, before, nil) })
}

// SetScore records an add-on score.
func (w *World) SetScore(object *clusterv1alpha1.AddOnPlacementScore) {
	w.mu.Lock()
	defer w.mu.Unlock()
	differs := false
	w.change(func(e *fleet.Edit) { differs = e.SetScore(object.Namespace, fleet.NewScore(object)) }, func() []fleet.Key {
		return w.scored(object, differs)
	}, func() explain.Cause { return about(kindScore, object, changed) })
}

// DeleteScore records that an add-on score is gone.
func (w *World) DeleteScore(object *clusterv1alpha1.AddOnPlacementScore) {
	w.mu.Lock()
	defer w.mu.Unlock()
	differs := false
	w.change(func(e *fleet.Edit) { differs = e.DeleteScore(object.Namespace, object.Name) }, func() []fleet.Key {
		return w.scored(object, differs)
	}, func() explain.Cause { return about(kindScore, object, deleted) })
}

func (w *World) scored(object *clusterv1alpha1.AddOnPlacementScore, differs bool) []fleet.Key {
	id, known := w.snapshot.ID(object.Namespace)
	if !differs || !known {
		return nil
	}
	return w.index.ScoreChanged(w.snapshot.Cluster(id), object.Name)
}

// SetSet records a cluster set. before is what the API server had, or nil for a new one.
func (w *World) SetSet(before, object *clusterv1beta2.ManagedClusterSet) {
	if before != nil && equality.Semantic.DeepEqual(before.Spec, object.Spec) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	what := changed
	if before == nil {
		what = created
	}
	w.change(func(e *fleet.Edit) { e.SetSet(fleet.NewSet(object)) }, func() []fleet.Key {
		return w.rebound(w.namespacesOf(object.Name)...)
	}, func() explain.Cause { return about(kindSet, object, what) })
}

// DeleteSet records that a cluster set is gone.
func (w *World) DeleteSet(object *clusterv1beta2.ManagedClusterSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.change(func(e *fleet.Edit) { e.DeleteSet(object.Name) }, func() []fleet.Key {
		return w.rebound(w.namespacesOf(object.Name)...)
	}, func() explain.Cause { return about(kindSet, object, deleted) })
}

// SetBinding records a binding. It is known by its name alone: the name is the set that it binds.
func (w *World) SetBinding(object *clusterv1beta2.ManagedClusterSetBinding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if put(w.boundTo, object.Name, object.Namespace) {
		w.change(func(e *fleet.Edit) { e.Bind(object.Namespace, object.Name) }, func() []fleet.Key {
			return w.rebound(object.Namespace)
		}, func() explain.Cause { return about(kindBinding, object, created) })
	}
}

// DeleteBinding records that a binding is gone.
func (w *World) DeleteBinding(object *clusterv1beta2.ManagedClusterSetBinding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	drop(w.boundTo, object.Name, object.Namespace)
	w.change(func(e *fleet.Edit) { e.Unbind(object.Namespace, object.Name) }, func() []fleet.Key {
		return w.rebound(object.Namespace)
	}, func() explain.Cause { return about(kindBinding, object, deleted) })
}

func (w *World) namespacesOf(set string) []string {
	var out []string
	for namespace := range w.boundTo[set] {
		out = append(out, namespace)
	}
	slices.Sort(out)
	return out
}

// rebound indexes the placements of namespaces anew, since what they may reach has changed, and returns them.
func (w *World) rebound(namespaces ...string) []fleet.Key {
	var out []fleet.Key
	for _, namespace := range namespaces {
		keys := w.index.InNamespace(namespace)
		w.reindex(keys)
		out = append(out, keys...)
	}
	return out
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
