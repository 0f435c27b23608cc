package acceptance

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/changes"
	"github.com/berth-project/berth/internal/membership/registration"
)

func newNamespace() *corev1.Namespace                   { return &corev1.Namespace{} }
func newClusterRole() *rbacv1.ClusterRole               { return &rbacv1.ClusterRole{} }
func newClusterRoleBinding() *rbacv1.ClusterRoleBinding { return &rbacv1.ClusterRoleBinding{} }
func newRoleBinding() *rbacv1.RoleBinding               { return &rbacv1.RoleBinding{} }

// ClusterObjects selects the objects with the label of a cluster.
func ClusterObjects() labels.Selector {
	requirement, err := labels.NewRequirement(clusterv1.ClusterNameLabelKey, selection.Exists, nil)
	if err != nil {
		panic("acceptance: the label of clusters is invalid: " + err.Error())
	}
	return labels.NewSelector().Add(*requirement)
}

func (r *reconciler) watch(mgr manager.Manager) error {
	owned := handler.EnqueueRequestsFromMapFunc(clusterOf)
	return builder.ControllerManagedBy(mgr).
		Named(Name).
		For(&clusterv1.ManagedCluster{}, builder.WithPredicates(relevant())).
		Watches(newNamespace(), owned).
		Watches(newClusterRole(), owned).
		Watches(newClusterRoleBinding(), owned).
		Watches(newRoleBinding(), owned).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// clusterOf returns the cluster that the label of an object names, if any.
func clusterOf(_ context.Context, object client.Object) []reconcile.Request {
	cluster := object.GetLabels()[clusterv1.ClusterNameLabelKey]
	if cluster == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: cluster}}}
}

// relevant passes the changes of a cluster that may change its plan. The reports of its agent do not, but for the first.
func relevant() predicate.Predicate {
	return changes.Of(func(before, after *clusterv1.ManagedCluster) bool {
		return before.Generation != after.Generation || !slices.Equal(before.Finalizers, after.Finalizers) ||
			changes.Deletion(before, after) || !mapsEqual(before.Annotations, after.Annotations) ||
			registration.UsesToken(after) && changed(before, after, clusterv1.ManagedClusterConditionAvailable) || // perhaps without its account
			changed(before, after, clusterv1.ManagedClusterConditionHubAccepted) || changed(before, after, clusterv1.ManagedClusterConditionJoined)
	})
}

func mapsEqual(a, b map[string]string) bool {
	for _, key := range []string{
		clusterv1.SimulatedAnnotationKey, clusterv1.InventoryProfileAnnotationKey, clusterv1.ForceDeleteAfterAnnotationKey,
		clusterv1.OnDeleteAnnotationKey,
		clusterv1.DriverAnnotationKey,
		clusterv1.JoinRequesterAnnotationKey, clusterv1.AgentTokenAnnotationKey, clusterv1.ClusterUIDAnnotationKey,
		clusterv1.AgentNameAnnotationKey,
		clusterv1.AgentAccountAnnotationKey,
	} {
		if a[key] != b[key] {
			return false
		}
	}
	return true
}

// changed reports whether the status, the reason or the message of a condition changed.
func changed(before, after *clusterv1.ManagedCluster, kind string) bool {
	a, b := meta.FindStatusCondition(before.Status.Conditions, kind), meta.FindStatusCondition(after.Status.Conditions, kind)
	if a == nil || b == nil {
		return a != b
	}
	return *withoutTime(a) != *withoutTime(b)
}

func withoutTime(condition *metav1.Condition) *metav1.Condition {
	out := *condition
	out.LastTransitionTime = metav1.Time{}
	return &out
}
