package sight

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

// Delta says what differs between two worlds.
type Delta struct {
	// Wide says that roles, or sets and their selectors, differ: any object may be in sight of one and not of the other.
	Wide bool
	// Names of the objects that differ, by kind.
	Names [kinds]sets.Set[string]
	// Weight is how many changes there were.
	Weight int
}

// Add adds what differs to a second delta.
func (d *Delta) Add(other Delta) {
	d.Wide = d.Wide || other.Wide
	d.Weight += other.Weight
	for kind, names := range other.Names {
		d.note(Kind(kind), names.UnsortedList()...)
	}
}

func (d *Delta) note(kind Kind, names ...string) {
	if d.Names[kind] == nil {
		d.Names[kind] = sets.New[string]()
	}
	d.Names[kind].Insert(names...)
}

// Edit makes a new world out of another. Each method applies one change; World ends the edit.
type Edit struct {
	next     *World
	before   *law
	fleet    *fleet.Edit
	revision uint64
	delta    Delta
}

// Edit starts an edit of w, which stays as it is. What it changes gets the revision.
func (w *World) Edit(revision uint64) *Edit {
	next := &World{law: w.law}
	for kind := range w.objects {
		next.objects[kind] = *clone(w.objects[kind])
	}
	return &Edit{next: next, before: w.law, fleet: w.fleet.Edit(), revision: revision}
}

// clone takes the map by value on purpose: copying writes to its receiver, and a world may have several readers.
func clone[V any](m btree.Map[string, V]) *btree.Map[string, V] {
	return m.Copy()
}

// World ends the edit and returns its result, and how that differs from where the edit started. The edit must not be
// used afterwards.
func (e *Edit) World() (*World, Delta) {
	out := e.next
	e.next = nil
	out.fleet = e.fleet.Snapshot()
	if out.law != e.before {
		e.before.supersede()
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
		return // a heartbeat: no set reads it
	}
	e.fleet.SetCluster(fleet.NewMember(object))
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
		equality.Semantic.DeepEqual(old.Spec.ClusterSelector, object.Spec.ClusterSelector) {
		return
	}
	e.fleet.SetSet(fleet.NewSet(object))
	e.delta.Wide = true
}

// DeleteSet removes a set.
func (e *Edit) DeleteSet(name string) {
	e.remove(Set, name)
	e.fleet.DeleteSet(name)
	e.delta.Wide = true
}

// set stores an object and says whether that changed anything.
func (e *Edit) set(kind Kind, object Object) bool {
	name := object.GetName()
	before, there := e.next.objects[kind].Get(name)
	if there && before.Object.GetUID() == object.GetUID() && before.Object.GetResourceVersion() == object.GetResourceVersion() {
		return false
	}
	e.next.objects[kind].Set(name, Entry{Object: object, Revision: e.revision})
	e.delta.note(kind, name)
	e.delta.Weight++
	return true
}

func (e *Edit) remove(kind Kind, name string) {
	e.next.objects[kind].Delete(name)
	e.delta.note(kind, name)
	e.delta.Weight++
}

// SetRole adds or replaces a ClusterRole, which must not be changed afterwards.
func (e *Edit) SetRole(role *rbacv1.ClusterRole) {
	before, there := e.next.law.roles.Get(role.Name)
	if there && equality.Semantic.DeepEqual(before.Rules, role.Rules) {
		return
	}
	e.amend().roles.Set(role.Name, role)
}

// DeleteRole removes a ClusterRole.
func (e *Edit) DeleteRole(name string) { e.amend().roles.Delete(name) }

// SetBinding adds or replaces a ClusterRoleBinding, which must not be changed afterwards.
func (e *Edit) SetBinding(binding *rbacv1.ClusterRoleBinding) {
	before, there := e.next.law.bindings.Get(binding.Name)
	if there && equality.Semantic.DeepEqual(before.Subjects, binding.Subjects) && before.RoleRef == binding.RoleRef {
		return
	}
	e.amend().bindings.Set(binding.Name, binding)
}

// DeleteBinding removes a ClusterRoleBinding.
func (e *Edit) DeleteBinding(name string) { e.amend().bindings.Delete(name) }

func (e *Edit) amend() *law {
	if e.next.law == e.before {
		e.next.law = e.before.amended()
	}
	e.delta.Wide = true
	e.delta.Weight++
	return e.next.law
}
