package acceptance

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// write is one write to the hub. A nil before creates the object, a nil after deletes it. Every other write has the UID and the
// resourceVersion of the object before, so that the API server refuses it where another client changed the object.
type write struct {
	before, after client.Object
}

// ensureNamespace creates the namespace of an accepted cluster, or puts the label back that protects it from deletion.
func ensureNamespace(found *corev1.Namespace, cluster string) []write {
	want := &corev1.Namespace{ObjectMeta: objectMeta("", cluster, cluster)}
	want.Labels[clusterv1.AcceptedLabelKey] = "true"
	if found == nil {
		return []write{{after: want}}
	}
	return patchOf(found, found.DeepCopy(), want)
}

// unprotect takes the label off a namespace that protects it from deletion, and returns the namespace as it is then. Its resourceVersion is
// that of the write once it was sent.
func unprotect(found *corev1.Namespace) (*corev1.Namespace, []write) {
	if found == nil {
		return nil, nil
	}
	if _, protected := found.Labels[clusterv1.AcceptedLabelKey]; !protected {
		return found, nil
	}
	next := found.DeepCopy()
	delete(next.Labels, clusterv1.AcceptedLabelKey)
	return next, []write{{before: found, after: next}}
}

// ensureClusterRole creates a ClusterRole, or restores its rules and its label.
func ensureClusterRole(found, want *rbacv1.ClusterRole) []write {
	if found == nil {
		return []write{{after: want}}
	}
	next := found.DeepCopy()
	next.Rules, next.AggregationRule = want.Rules, nil
	return patchOf(found, next, want)
}

// ensureClusterRoleBinding creates a ClusterRoleBinding, or restores its subjects and its label. A binding to another role is
// deleted and created again, since its role cannot be changed.
func ensureClusterRoleBinding(found, want *rbacv1.ClusterRoleBinding) []write {
	switch {
	case found == nil:
		return []write{{after: want}}
	case found.RoleRef != want.RoleRef:
		return []write{{before: found}, {after: want}}
	}
	next := found.DeepCopy()
	next.Subjects = want.Subjects
	return patchOf(found, next, want)
}

// ensureRoleBinding does for a RoleBinding what ensureClusterRoleBinding does.
func ensureRoleBinding(found, want *rbacv1.RoleBinding) []write {
	switch {
	case found == nil:
		return []write{{after: want}}
	case found.RoleRef != want.RoleRef:
		return []write{{before: found}, {after: want}}
	}
	next := found.DeepCopy()
	next.Subjects = want.Subjects
	return patchOf(found, next, want)
}

// patchOf returns the patch to an object with the wanted labels; none where they are equal. Other labels stay.
func patchOf(found, next, want client.Object) []write {
	labels := maps.Clone(next.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, want.GetLabels())
	next.SetLabels(labels)
	if equality.Semantic.DeepEqual(found, next) {
		return nil
	}
	return []write{{before: found, after: next}}
}

// remove deletes an object that exists.
func remove[T any, P interface {
	*T
	client.Object
}](found P) []write {
	if found == nil {
		return nil
	}
	return []write{{before: found}}
}
