package live

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/assumed"
	"github.com/berth-project/berth/internal/kube/builtin"
)

// SetCluster records a cluster from the API server.
func (s *State) SetCluster(object *clusterv1.ManagedCluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, after, changed := s.nextEdit().SetManagedCluster(object)
	if before == nil || changed&fleet.TermFacets != 0 {
		s.publish()
		s.enqueueUnmanaged(s.unmanagedWith(object.Name), func() explain.Cause { return clusterCause(object.Name, before, after) })
	}
	s.enqueueAll(s.enqueue, func() []fleet.Key { return s.index.ClusterChanged(s.snapshot, before, after) },
		func() explain.Cause { return clusterCause(object.Name, before, after) })
}

// HasClusters returns whether the state has each cluster in the given version or a newer one. Clusters that it lacks were deleted.
func (s *State) HasClusters(clusters []clusterv1.ManagedCluster) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending != nil { // before the state is ready, publish does nothing
		s.snapshot, s.pending = s.pending.Snapshot(), nil
	}
	for i := range clusters {
		id, known := s.snapshot.ID(clusters[i].Name)
		if !known {
			continue
		}
		if cluster := s.snapshot.Cluster(id); cluster != nil && assumed.Newer(&clusters[i], cluster.Object) {
			return false
		}
	}
	return true
}

// DeleteCluster records that a cluster is deleted.
func (s *State) DeleteCluster(object *clusterv1.ManagedCluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.nextEdit().DeleteCluster(object.Name)
	s.publish()
	s.enqueueUnmanaged(s.unmanagedWith(object.Name), func() explain.Cause { return clusterCause(object.Name, before, nil) })
	s.enqueueAll(s.enqueue, func() []fleet.Key { return s.index.ClusterChanged(s.snapshot, before, nil) },
		func() explain.Cause { return clusterCause(object.Name, before, nil) })
}

// SetScore records an add-on score.
func (s *State) SetScore(object *clusterv1alpha1.AddOnPlacementScore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nextEdit().SetScore(object.Namespace, fleet.NewScore(object)) {
		s.scoreChanged(object, changed)
	}
}

// DeleteScore records that an add-on score is deleted.
func (s *State) DeleteScore(object *clusterv1alpha1.AddOnPlacementScore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nextEdit().DeleteScore(object.Namespace, object.Name) {
		s.scoreChanged(object, deleted)
	}
}

// scoreChanged enqueues the placements that read a score.
func (s *State) scoreChanged(object *clusterv1alpha1.AddOnPlacementScore, what string) {
	s.enqueueAll(s.enqueueScored, func() []fleet.Key {
		id, known := s.snapshot.ID(object.Namespace)
		if !known {
			return nil
		}
		return s.index.ScoreChanged(s.snapshot.Cluster(id), object.Name)
	}, func() explain.Cause { return causeOf(kindScore, object, what) })
}

// AssumeBuiltInSets makes the state contain the sets `default` and `global` with their required selectors from now on,
// whatever the hub holds. Call it where a controller restores them: no decision may change in the meantime.
func (s *State) AssumeBuiltInSets() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assumeBuiltIn = true
	for _, name := range builtin.Names() {
		s.setSet(nil, builtin.Set(name))
	}
}

// SetSet records a cluster set. before is the previous object, or nil for a new set.
func (s *State) SetSet(before, object *clusterv1beta2.ManagedClusterSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setSet(before, object)
}

func (s *State) setSet(before, object *clusterv1beta2.ManagedClusterSet) {
	if s.assumeBuiltIn {
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
	s.nextEdit().SetSet(fleet.NewSet(object))
	s.bindingsChanged(causeOf(kindSet, object, what), s.namespacesOf(object.Name)...)
}

// DeleteSet records that a cluster set is deleted.
func (s *State) DeleteSet(object *clusterv1beta2.ManagedClusterSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := builtin.Set(object.Name); s.assumeBuiltIn && kept != nil {
		s.setSet(object, kept)
		return
	}
	s.nextEdit().DeleteSet(object.Name)
	s.bindingsChanged(causeOf(kindSet, object, deleted), s.namespacesOf(object.Name)...)
}

// SetBinding records a binding. Its name is the name of the set. A binding that is being deleted does not count, whatever
// finalizer it has.
func (s *State) SetBinding(object *clusterv1beta2.ManagedClusterSetBinding) {
	if !object.DeletionTimestamp.IsZero() {
		s.DeleteBinding(object)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if addMember(s.boundTo, object.Name, object.Namespace) {
		s.nextEdit().Bind(object.Namespace, object.Name)
		s.bindingsChanged(causeOf(kindBinding, object, created), object.Namespace)
	}
}

// DeleteBinding records that a binding is deleted or being deleted.
func (s *State) DeleteBinding(object *clusterv1beta2.ManagedClusterSetBinding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, bound := s.boundTo[object.Name][object.Namespace]; !bound {
		return
	}
	removeMember(s.boundTo, object.Name, object.Namespace)
	s.nextEdit().Unbind(object.Namespace, object.Name)
	s.bindingsChanged(causeOf(kindBinding, object, deleted), object.Namespace)
}

func (s *State) namespacesOf(set string) []string {
	var out []string
	for namespace := range s.boundTo[set] {
		out = append(out, namespace)
	}
	slices.Sort(out)
	return out
}

// bindingsChanged ends a change of the sets that the placements of namespaces may choose from: they are indexed again and
// enqueued.
func (s *State) bindingsChanged(why explain.Cause, namespaces ...string) {
	s.publish()
	s.enqueueAll(s.enqueue, func() (touched []fleet.Key) {
		for _, namespace := range namespaces {
			keys := s.index.ByNamespace(namespace)
			s.reindex(keys)
			touched = append(touched, keys...)
		}
		return append(touched, s.unmanagedIn(namespaces)...)
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
