// Package grant runs the controller that creates bindings from permissions. If the service account `placement` of a namespace may
// `create` `managedclustersets/bind` of a set, the controller binds the set to the namespace. It deletes the binding with
// the permission.
//
// It never changes a binding that it did not create. It ignores RoleBindings: the owner of a namespace can write them, and would grant
// the set without a permission for it. The rule is from the first placement proposal, scenario 2.
package grant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/access"
	"github.com/berth-project/berth/internal/kube/apply"
)

const (
	// Name is the controller's name, for --controllers, logs and metrics.
	Name = "grant"
	// Account is the service account whose permissions count.
	Account = "placement"
	// MadeByGrant is the value of MadeByLabel on the bindings of this controller.
	MadeByGrant = "grant"

	// guardRetry is when a namespace is looked at again while the label of its bindings is not guarded.
	guardRetry = 5 * time.Minute
)

// Right is the permission that a binding needs.
//
//nolint:gochecknoglobals // a constant of a struct type
var Right = access.Permission{
	Verb: "create", Group: clusterv1beta2.GroupVersion.Group,
	Resource: "managedclustersets/bind",
}

// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersetbindings,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets/bind,verbs=create

// allNamespaces is the request that enqueues every namespace with the account. No namespace has an empty name. The queue holds it at
// most once, however many roles change.
const allNamespaces = ""

// reconciler reconciles the bindings of namespaces.
type reconciler struct {
	client client.Client
	index  *access.Index
	// enqueue enqueues a namespace.
	enqueue func(namespace string)
	// guarded reports whether the API server limits who may change MadeByLabel.
	guarded func(context.Context) (bool, error)
}

// Reconcile creates and deletes the bindings of a namespace by the permissions of its account. The name of the request is the
// namespace.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	namespace := request.Name
	if namespace == allNamespaces {
		return reconcile.Result{}, r.enqueueAccounts(ctx)
	}
	allowed, err := r.allowed(ctx, namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	bindings := &clusterv1beta2.ManagedClusterSetBindingList{}
	if err := r.client.List(ctx, bindings, client.InNamespace(namespace)); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing the bindings of namespace %s: %w", namespace, err)
	}
	guarded, err := r.guarded(ctx)
	again := time.Duration(0)
	if !guarded {
		again = guardRetry
	}
	err = errors.Join(err, r.removeAll(ctx, revoked(bindings.Items, allowed)), r.relabel(ctx, bindings.Items, guarded),
		r.grant(ctx, namespace, bindings.Items, allowed, guarded))
	return reconcile.Result{RequeueAfter: again}, err
}

// madeByGrant returns whether this controller made a binding.
func madeByGrant(binding *clusterv1beta2.ManagedClusterSetBinding) bool {
	return binding.Labels[clusterv1beta2.MadeByLabel] == MadeByGrant || binding.Labels[clusterv1beta2.DeprecatedMadeByLabel] == MadeByGrant
}

// label labels a binding as made by this controller. The deprecated label stays until the new one is guarded: until then, editors of
// the namespace could remove the new label, and the binding would outlive its grant.
func label(binding *clusterv1beta2.ManagedClusterSetBinding, guarded bool) {
	if binding.Labels == nil {
		binding.Labels = map[string]string{}
	}
	binding.Labels[clusterv1beta2.MadeByLabel] = MadeByGrant
	binding.Labels[clusterv1beta2.DeprecatedMadeByLabel] = MadeByGrant
	if guarded {
		delete(binding.Labels, clusterv1beta2.DeprecatedMadeByLabel)
	}
}

// relabel rewrites the label of bindings that an older release made.
func (r *reconciler) relabel(ctx context.Context, there []clusterv1beta2.ManagedClusterSetBinding, guarded bool) error {
	var faults []error
	for i := range there {
		binding := &there[i]
		if !madeByGrant(binding) || !binding.DeletionTimestamp.IsZero() {
			continue
		}
		next := binding.DeepCopy()
		if label(next, guarded); maps.Equal(next.Labels, binding.Labels) {
			continue
		}
		err := r.client.Patch(ctx, next, apply.Fenced(binding))
		if err != nil && !apply.IsConflict(err) && !apierrors.IsNotFound(err) {
			faults = append(faults, fmt.Errorf("labelling the binding of ManagedClusterSet %s to namespace %s: %w", binding.Name, binding.Namespace,
				err))
		}
	}
	return errors.Join(faults...)
}

// revoked returns the bindings of this controller without a permission.
func revoked(there []clusterv1beta2.ManagedClusterSetBinding, allowed access.NameSet) []*clusterv1beta2.ManagedClusterSetBinding {
	var out []*clusterv1beta2.ManagedClusterSetBinding
	for i := range there {
		binding := &there[i]
		if madeByGrant(binding) && !allowed.Has(binding.Name) && binding.DeletionTimestamp.IsZero() {
			out = append(out, binding)
		}
	}
	return out
}

// removeAll deletes bindings. A failure does not stop the others.
func (r *reconciler) removeAll(ctx context.Context, over []*clusterv1beta2.ManagedClusterSetBinding) error {
	var faults []error
	for _, binding := range over {
		faults = append(faults, r.remove(ctx, binding))
	}
	return errors.Join(faults...)
}

// grant binds every allowed set that is not bound yet. A failure does not stop the others.
func (r *reconciler) grant(ctx context.Context, namespace string, there []clusterv1beta2.ManagedClusterSetBinding, allowed access.NameSet,
	guarded bool,
) error {
	if !allowed.All && allowed.Names.Len() == 0 {
		return nil
	}
	bound := sets.New[string]()
	for i := range there {
		bound.Insert(there[i].Name)
	}
	all := &clusterv1beta2.ManagedClusterSetList{}
	if err := r.client.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing managed cluster sets: %w", err)
	}
	var faults []error
	for i := range all.Items {
		set := &all.Items[i]
		if allowed.Has(set.Name) && !bound.Has(set.Name) && set.DeletionTimestamp.IsZero() {
			faults = append(faults, r.bind(ctx, namespace, set.Name, guarded))
		}
	}
	return errors.Join(faults...)
}

// allowed returns the sets that the account of a namespace may bind; none if there is no account.
func (r *reconciler) allowed(ctx context.Context, namespace string) (access.NameSet, error) {
	account := AccountKind()
	err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: Account}, account)
	switch {
	case apierrors.IsNotFound(err):
		return access.NameSet{}, nil
	case err != nil:
		return access.NameSet{}, fmt.Errorf("reading ServiceAccount %s/%s: %w", namespace, Account, err)
	case !account.DeletionTimestamp.IsZero():
		return access.NameSet{}, nil
	default:
		return r.index.AllowedNames(access.ServiceAccount(namespace, Account), Right), nil
	}
}

func (r *reconciler) bind(ctx context.Context, namespace, set string, guarded bool) error {
	binding := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set}}
	binding.Spec.ClusterSet = set
	label(binding, guarded)
	err := r.client.Create(ctx, binding)
	if err == nil || apierrors.IsAlreadyExists(err) || namespaceTerminating(err) {
		return nil
	}
	return fmt.Errorf("binding ManagedClusterSet %s to namespace %s: %w", set, namespace, err)
}

func (r *reconciler) remove(ctx context.Context, binding *clusterv1beta2.ManagedClusterSetBinding) error {
	if err := r.client.Delete(ctx, binding, apply.Unchanged(binding)); err != nil && !apply.IsConflict(err) {
		return fmt.Errorf("removing the binding of ManagedClusterSet %s from namespace %s: %w", binding.Name, binding.Namespace, err)
	}
	return nil
}

// namespaceTerminating reports whether a request failed because its namespace is being deleted or is gone.
func namespaceTerminating(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
