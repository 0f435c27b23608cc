package acceptance

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// write is one write to the hub. A nil before creates the object, a nil after deletes it. Every other write has the UID and the
// resourceVersion of the object before, so that the API server refuses it where another client changed the object.
type write struct {
	before, after client.Object
}

// ensureNamespace creates a namespace. An existing namespace is never changed.
func ensureNamespace(found *corev1.Namespace, cluster string) []write {
	if found != nil {
		return nil
	}
	return []write{{after: &corev1.Namespace{ObjectMeta: objectMeta("", cluster, cluster)}}}
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
