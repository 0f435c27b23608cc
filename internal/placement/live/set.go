package live

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/explain"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/builtin"
)

// AssumeBuiltInSets makes the fleet contain the sets `default` and `global` with their required selectors from now on,
// whatever the hub holds. Call it where a controller restores them: no decision may change in the meantime.
func (f *Fleet) AssumeBuiltInSets() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.assumeBuiltIn = true
	for _, name := range builtin.Names() {
		f.setSet(nil, builtin.Set(name))
	}
}

// SetSet records a cluster set. before is the previous object, or nil for a new set.
func (f *Fleet) SetSet(before, object *clusterv1beta2.ManagedClusterSet) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.setSet(before, object)
}

func (f *Fleet) setSet(before, object *clusterv1beta2.ManagedClusterSet) {
	object = f.asCounted(object)
	if before != nil &&
		equality.Semantic.DeepEqual(fleet.SelectorInEffect(f.asCounted(before)), fleet.SelectorInEffect(object)) {
		return
	}
	delete(f.withdrawals.sets, object.Name)
	what := changed
	if before == nil {
		what = created
	}
	f.nextEdit().SetSet(fleet.NewSet(object))
	f.bindingsChanged(causeOf(kindSet, object, what), f.namespacesOf(object.Name)...)
}

// asCounted returns a set as it counts. Where the controller of sets runs, it restores the built-in sets, and an edited selector counts
// once that has taken it. Where it does not run, what it once took does not count.
func (f *Fleet) asCounted(set *clusterv1beta2.ManagedClusterSet) *clusterv1beta2.ManagedClusterSet {
	if f.assumeBuiltIn {
		return builtin.Restored(set)
	}
	if set.Status.ClusterSelector == nil {
		return set
	}
	out := *set
	out.Status.ClusterSelector = nil
	return &out
}

// DeleteSet records that a cluster set is deleted.
func (f *Fleet) DeleteSet(object *clusterv1beta2.ManagedClusterSet) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if kept := builtin.Set(object.Name); f.assumeBuiltIn && kept != nil {
		f.setSet(object, kept)
		return
	}
	if f.withdrawals.enabled {
		f.withdrawSet(object)
		return
	}
	f.nextEdit().DeleteSet(object.Name)
	f.bindingsChanged(causeOf(kindSet, object, deleted), f.namespacesOf(object.Name)...)
}

// SetBinding records a binding. Its name is the name of the set. A binding that is being deleted does not count, whatever
// finalizer it has.
func (f *Fleet) SetBinding(object *clusterv1beta2.ManagedClusterSetBinding) {
	if !object.DeletionTimestamp.IsZero() {
		f.DeleteBinding(object)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := fleet.Key{Namespace: object.Namespace, Name: object.Name}
	_, returned := f.withdrawals.bindings[key]
	delete(f.withdrawals.bindings, key)
	if addMember(f.boundTo, object.Name, object.Namespace) || returned {
		f.nextEdit().Bind(object.Namespace, object.Name)
		f.bindingsChanged(causeOf(kindBinding, object, created), object.Namespace)
	}
}

// DeleteBinding records that a binding is deleted or being deleted.
func (f *Fleet) DeleteBinding(object *clusterv1beta2.ManagedClusterSetBinding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, bound := f.boundTo[object.Name][object.Namespace]; !bound {
		return
	}
	if f.withdrawals.enabled {
		f.withdrawBinding(object)
		return
	}
	f.unbind(fleet.Key{Namespace: object.Namespace, Name: object.Name})
}

// unbind removes a binding from the fleet.
func (f *Fleet) unbind(key fleet.Key) {
	removeMember(f.boundTo, key.Name, key.Namespace)
	f.nextEdit().Unbind(key.Namespace, key.Name)
	f.bindingsChanged(causeFor(kindBinding, key, deleted), key.Namespace)
}

func (f *Fleet) namespacesOf(set string) []string {
	var out []string
	for namespace := range f.boundTo[set] {
		out = append(out, namespace)
	}
	slices.Sort(out)
	return out
}

// bindingsChanged ends a change of the sets that the placements of namespaces may choose from: they are indexed again and
// enqueued, and so are the unmanaged placements there. A spec that is not compiled yet is indexed later.
func (f *Fleet) bindingsChanged(why explain.Cause, namespaces ...string) {
	f.publish()
	if !f.ready {
		return
	}
	var touched []fleet.Key
	for _, namespace := range namespaces {
		keys := f.index.ByNamespace(namespace)
		for _, key := range keys {
			f.index.Put(f.snapshot, key, f.programs[key])
		}
		touched = append(touched, keys...)
	}
	unmanaged := f.unmanagedWhere(func(key fleet.Key, _ map[string]struct{}) bool { return slices.Contains(namespaces, key.Namespace) })
	f.enqueueAll(f.enqueue, merge(touched, unmanaged), func() explain.Cause { return why })
}
