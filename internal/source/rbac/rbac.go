// Package rights owns the bridge from the hub's ClusterRoles and ClusterRoleBindings to an access.Index. It refuses to
// answer questions itself.
package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/access"
	"github.com/berth-project/berth/internal/source/informer"
)

// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles;clusterrolebindings,verbs=list;watch

// Watch lets the index follow the informers. changed is called after every change; it must not block, and may be nil.
// The index is complete once synced returns true.
func Watch(ctx context.Context, informers cache.Cache, index *access.Index, changed func()) (synced func() bool, err error) {
	if changed == nil {
		changed = func() {}
	}
	roles, err := follow(ctx, informers, &rbacv1.ClusterRole{}, changed, index.SetRole, index.DeleteRole)
	if err != nil {
		return nil, err
	}
	bindings, err := follow(ctx, informers, &rbacv1.ClusterRoleBinding{}, changed, index.SetBinding, index.DeleteBinding)
	if err != nil {
		return nil, err
	}
	return func() bool { return roles() && bindings() }, nil
}

func follow[T client.Object](ctx context.Context, informers cache.Cache, kind T, changed func(), set func(T), remove func(name string)) (synced func() bool, err error) {
	return informer.Watch(ctx, informers, kind,
		func(object T) {
			set(object)
			changed()
		},
		func(name string) {
			remove(name)
			changed()
		})
}
