// Package rights owns the bridge from the hub's ClusterRoles and ClusterRoleBindings to an access.Index. It refuses to
// answer questions itself.
package rights

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-project/berth/internal/access"
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
	informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching %T: %w", kind, err)
	}
	put := func(object any) {
		if typed, ok := object.(T); ok {
			set(typed)
			changed()
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    put,
		UpdateFunc: func(_, object any) { put(object) },
		DeleteFunc: func(object any) {
			if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			if typed, ok := object.(T); ok {
				remove(typed.GetName())
				changed()
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watching %T: %w", kind, err)
	}
	return registration.HasSynced, nil
}
