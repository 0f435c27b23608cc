package grant

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/access"
	"github.com/berth-project/berth/internal/source/rbac"
)

const syncPoll = 20 * time.Millisecond

// Options configures the controller.
type Options struct {
	// GrantLabelGuarded reports whether the API server limits who may change the label of a granted binding.
	GrantLabelGuarded func(context.Context) (bool, error)
}

// Add adds the controller to a manager.
func Add(mgr manager.Manager, options Options) error {
	index := access.NewIndex()
	r := &reconciler{client: mgr.GetClient(), index: index, guarded: options.GrantLabelGuarded}
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{request(allNamespaces)}
	})
	err := builder.ControllerManagedBy(mgr).
		Named(Name).
		Watches(AccountKind(), handler.EnqueueRequestsFromMapFunc(namespaceOf), builder.WithPredicates(predicate.NewPredicateFuncs(isAccount))).
		Watches(&clusterv1beta2.ManagedClusterSetBinding{}, handler.EnqueueRequestsFromMapFunc(namespaceOf)).
		Watches(&clusterv1beta2.ManagedClusterSet{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(&permissions{cache: mgr.GetCache(), reconciler: r}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the grant controller: %w", err)
	}
	return nil
}

// AccountKind returns an empty service account. The controller reads only the metadata.
func AccountKind() *metav1.PartialObjectMetadata {
	account := &metav1.PartialObjectMetadata{}
	account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	return account
}

func namespaceOf(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{request(object.GetNamespace())}
}

func request(namespace string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: namespace}}
}

func isAccount(object client.Object) bool { return object.GetName() == Account }

// enqueueAccounts enqueues every namespace that has the account.
func (r *reconciler) enqueueAccounts(ctx context.Context) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccountList"))
	if err := r.client.List(ctx, list); err != nil {
		return fmt.Errorf("listing service accounts: %w", err)
	}
	for i := range list.Items {
		if isAccount(&list.Items[i]) {
			r.enqueue(list.Items[i].Namespace)
		}
	}
	return nil
}

// permissions is a source that enqueues every namespace with the account when a role or a role binding changes. It is synced once the
// index has every role and role binding: before, a permission would seem to be gone.
type permissions struct {
	cache      cache.Cache
	reconciler *reconciler
	synced     func() bool
}

// Start starts the watches of roles and role bindings. It does not block.
func (p *permissions) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) (err error) {
	p.reconciler.enqueue = func(namespace string) { queue.Add(request(namespace)) }
	p.synced, err = rbac.Watch(ctx, p.cache, p.reconciler.index, func() { queue.Add(request(allNamespaces)) })
	return err
}

// WaitForSync blocks until every role and role binding is in the index.
func (p *permissions) WaitForSync(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, syncPoll, true, func(context.Context) (bool, error) { return p.synced(), nil })
	if err != nil {
		return fmt.Errorf("waiting for roles and their bindings: %w", err)
	}
	return nil
}
