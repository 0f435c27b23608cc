package visibility

import (
	"maps"

	"github.com/tidwall/btree"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
)

// Delta is the difference between two snapshots.
type Delta struct {
	// AffectsAll is set where roles, sets or selectors differ: any object may have become visible or invisible.
	AffectsAll bool
	// Names are those of the changed objects, by kind.
	Names [kinds]sets.Set[string]
	// Count is the number of changes.
	Count int
}

// Add adds another delta.
func (d *Delta) Add(other Delta) {
	d.AffectsAll = d.AffectsAll || other.AffectsAll
	d.Count += other.Count
	for kind, names := range other.Names {
		d.addNames(Kind(kind), names.UnsortedList()...)
	}
}

func (d *Delta) addNames(kind Kind, names ...string) {
	if d.Names[kind] == nil {
		d.Names[kind] = sets.New[string]()
	}
	d.Names[kind].Insert(names...)
}

// Edit makes a new snapshot from another. Each method applies one change, and Snapshot ends the edit.
type Edit struct {
	next     *Snapshot
	oldRBAC  *rbacSnapshot
	fleet    *fleet.Edit
	revision uint64
	delta    Delta
}

// Edit starts an edit of w, which does not change. The changed objects get the revision.
func (s *Snapshot) Edit(revision uint64) *Edit {
	next := &Snapshot{rbac: s.rbac}
	for kind := range s.objects {
		next.objects[kind] = *clone(s.objects[kind])
	}
	return &Edit{next: next, oldRBAC: s.rbac, fleet: s.fleet.Edit(), revision: revision}
}

// clone takes the map by value, since Copy writes to its receiver, and a snapshot may have several readers.
func clone[V any](m btree.Map[string, V]) *btree.Map[string, V] {
	return m.Copy()
}

// Snapshot ends the edit and returns the new snapshot and its delta. The edit must not be used afterwards.
func (e *Edit) Snapshot() (*Snapshot, Delta) {
	out := e.next
	e.next = nil
	out.fleet = e.fleet.Snapshot()
	if out.rbac != e.oldRBAC {
		e.oldRBAC.supersede()
	}
	return out, e.delta
}

// SetCluster adds or replaces a cluster, which must not be changed afterwards.
func (e *Edit) SetCluster(object *clusterv1.ManagedCluster) {
	before, there := e.next.objects[Cluster].Get(object.Name)
	if !e.set(Cluster, object) {
		return
	}
	if old, ok := before.Object.(*clusterv1.ManagedCluster); there && ok && maps.Equal(old.Labels, object.Labels) {
		return // no set depends on the change
	}
	e.fleet.SetCluster(fleet.NewClusterFromLabels(object))
}

// DeleteCluster removes a cluster.
func (e *Edit) DeleteCluster(name string) {
	e.remove(Cluster, name)
	e.fleet.DeleteCluster(name)
}

// SetSet adds or replaces a set, which must not be changed afterwards.
func (e *Edit) SetSet(object *clusterv1beta2.ManagedClusterSet) {
	before, there := e.next.objects[Set].Get(object.Name)
	if !e.set(Set, object) {
		return
	}
	if old, ok := before.Object.(*clusterv1beta2.ManagedClusterSet); there && ok &&
		equality.Semantic.DeepEqual(fleet.SelectorInEffect(old), fleet.SelectorInEffect(object)) {
		return
	}
	e.fleet.SetSet(fleet.NewSet(object))
	e.delta.AffectsAll = true
}

// DeleteSet removes a set.
func (e *Edit) DeleteSet(name string) {
	e.remove(Set, name)
	e.fleet.DeleteSet(name)
	e.delta.AffectsAll = true
}

// set stores an object and reports whether it changed.
func (e *Edit) set(kind Kind, object Object) bool {
	name := object.GetName()
	before, there := e.next.objects[kind].Get(name)
	if there && before.Object.GetUID() == object.GetUID() && before.Object.GetResourceVersion() == object.GetResourceVersion() {
		return false
	}
	e.next.objects[kind].Set(name, Entry{Object: object, Revision: e.revision})
	e.delta.addNames(kind, name)
	e.delta.Count++
	return true
}

func (e *Edit) remove(kind Kind, name string) {
	e.next.objects[kind].Delete(name)
	e.delta.addNames(kind, name)
	e.delta.Count++
}

// SetRole adds or replaces a ClusterRole, which must not be changed afterwards.
func (e *Edit) SetRole(role *rbacv1.ClusterRole) {
	before, there := e.next.rbac.roles.Get(role.Name)
	if there && equality.Semantic.DeepEqual(before.Rules, role.Rules) {
		return
	}
	e.editRBAC().roles.Set(role.Name, role)
}

// DeleteRole removes a ClusterRole.
func (e *Edit) DeleteRole(name string) { e.editRBAC().roles.Delete(name) }

// SetBinding adds or replaces a ClusterRoleBinding, which must not be changed afterwards.
func (e *Edit) SetBinding(binding *rbacv1.ClusterRoleBinding) {
	before, there := e.next.rbac.bindings.Get(binding.Name)
	if there && equality.Semantic.DeepEqual(before.Subjects, binding.Subjects) && before.RoleRef == binding.RoleRef {
		return
	}
	e.editRBAC().bindings.Set(binding.Name, binding)
}

// DeleteBinding removes a ClusterRoleBinding.
func (e *Edit) DeleteBinding(name string) { e.editRBAC().bindings.Delete(name) }

func (e *Edit) editRBAC() *rbacSnapshot {
	if e.next.rbac == e.oldRBAC {
		e.next.rbac = e.oldRBAC.mutableCopy()
	}
	e.delta.AffectsAll = true
	e.delta.Count++
	return e.next.rbac
}
