// Package rbac owns the bridge from the hub's ClusterRoles and ClusterRoleBindings to an access.Index. The index answers
// the questions.
package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/berth-project/berth/internal/kube/access"
	"github.com/berth-project/berth/internal/source/informer"
)

// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles;clusterrolebindings,verbs=list;watch

// Watch updates an index from the informers. changed is called after every change; it must not block. The index is complete
// once synced returns true.
func Watch(ctx context.Context, informers cache.Cache, index *access.Index, changed func()) (synced func() bool, err error) {
	return informer.Watch(ctx, informers,
		informer.To(&rbacv1.ClusterRole{},
			func(_, role *rbacv1.ClusterRole) { index.SetRole(role); changed() },
			func(role *rbacv1.ClusterRole) { index.DeleteRole(role.Name); changed() }),
		informer.To(&rbacv1.ClusterRoleBinding{},
			func(_, binding *rbacv1.ClusterRoleBinding) { index.SetBinding(binding); changed() },
			func(binding *rbacv1.ClusterRoleBinding) { index.DeleteBinding(binding.Name); changed() }))
}
