// Package grant owns the loop that turns permissions into bindings. Where a namespace has a service account named
// `placement` which may `create` on `managedclustersets/bind` for a set, the namespace gets a binding to the set; once
// the permission is gone, so is the binding.
//
// It refuses to touch a binding that it did not make, and to look at RoleBindings: the owner of a namespace could write
// one, and give away what is not theirs. The rule is of the first placement proposal, scenario 2.
package grant

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/access"
	"github.com/berth-project/berth/internal/apply"
)

const (
	// Name is the controller's name, for --controllers, logs and metrics.
	Name = "grant"
	// Account is the service account whose permissions count.
	Account = "placement"
	// MadeByLabel marks the bindings that this loop made, with the value MadeByGrant.
	MadeByLabel = "cluster.open-cluster-management.io/binding-made-by"
	// MadeByGrant is the value of MadeByLabel.
	MadeByGrant = "grant"
)

// Right is the permission that a binding needs.
var Right = access.Right{Verb: "create", Group: clusterv1beta2.GroupVersion.Group, Resource: "managedclustersets/bind"} //nolint:gochecknoglobals // a constant of a struct type

// +kubebuilder:rbac:groups="",resources=serviceaccounts;namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersetbindings,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets/bind,verbs=create

// reconciler makes and removes the bindings of one namespace at a time.
type reconciler struct {
	client client.Client
	index  *access.Index
}

// Reconcile makes the bindings of a namespace what the permissions of its account say. The request's name is the
// namespace.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	namespace := request.Name
	allowed, err := r.allowed(ctx, namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	there, err := r.withdraw(ctx, namespace, allowed)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.grant(ctx, namespace, allowed, there)
}

// withdraw removes the bindings that this loop made and that are allowed no more. It returns the names of the others.
func (r *reconciler) withdraw(ctx context.Context, namespace string, allowed access.Names) (sets.Set[string], error) {
	bindings := &clusterv1beta2.ManagedClusterSetBindingList{}
	if err := r.client.List(ctx, bindings, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the bindings of namespace %s: %w", namespace, err)
	}
	stay := sets.New[string]()
	for i := range bindings.Items {
		binding := &bindings.Items[i]
		if binding.Labels[MadeByLabel] != MadeByGrant || allowed.Has(binding.Name) {
			stay.Insert(binding.Name)
			continue
		}
		if err := r.remove(ctx, binding); err != nil {
			return nil, err
		}
	}
	return stay, nil
}

// grant binds every set that exists, is allowed and is not bound.
func (r *reconciler) grant(ctx context.Context, namespace string, allowed access.Names, bound sets.Set[string]) error {
	all := &clusterv1beta2.ManagedClusterSetList{}
	if err := r.client.List(ctx, all); err != nil {
		return fmt.Errorf("listing managed cluster sets: %w", err)
	}
	for i := range all.Items {
		set := &all.Items[i]
		if !allowed.Has(set.Name) || bound.Has(set.Name) || !set.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.bind(ctx, namespace, set.Name); err != nil {
			return err
		}
	}
	return nil
}

// allowed returns the sets that the account of a namespace may bind: none where there is no account, or where the
// namespace is going away.
func (r *reconciler) allowed(ctx context.Context, namespace string) (access.Names, error) {
	home := &corev1.Namespace{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: namespace}, home); err != nil {
		return access.Names{}, client.IgnoreNotFound(err)
	}
	account := AccountKind()
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: Account}, account); err != nil {
		return access.Names{}, client.IgnoreNotFound(err)
	}
	if !home.DeletionTimestamp.IsZero() || !account.DeletionTimestamp.IsZero() {
		return access.Names{}, nil
	}
	return r.index.Names(access.ServiceAccount(namespace, Account), Right), nil
}

func (r *reconciler) bind(ctx context.Context, namespace, set string) error {
	binding := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: set, Labels: map[string]string{MadeByLabel: MadeByGrant},
	}}
	binding.Spec.ClusterSet = set
	if err := r.client.Create(ctx, binding); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("binding ManagedClusterSet %s to namespace %s: %w", set, namespace, err)
	}
	return nil
}

func (r *reconciler) remove(ctx context.Context, binding *clusterv1beta2.ManagedClusterSetBinding) error {
	fence := client.Preconditions(metav1.Preconditions{UID: &binding.UID, ResourceVersion: &binding.ResourceVersion})
	if err := r.client.Delete(ctx, binding, fence); err != nil && !apply.Superseded(err) {
		return fmt.Errorf("removing the binding of ManagedClusterSet %s from namespace %s: %w", binding.Name, binding.Namespace, err)
	}
	return nil
}
