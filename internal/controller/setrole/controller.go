// Package setrole owns the ClusterRoles that admins hand out for a set: for its admins, its binders and its viewers. It
// makes them when a set comes, keeps them as they must be, and lets them go with the set.
//
// It refuses to bind them to anybody, to change a role that it did not make, and to grant what the manager itself may
// not do: the API server holds it to that. It relies on the policy in config/manager: were everybody who may write
// ClusterRoles free to empty one of these, they could bind it while it grants nothing, and this loop would fill it.
package setrole

import (
	"context"
	"errors"
	"fmt"
	"maps"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/apply"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "setrole"

// The manager must hold what the roles grant. The API server refuses to let it grant more.
//
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets/bind;managedclustersets/join;managedclusters/label,verbs=create
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles,verbs=list;watch;create;patch

// Add adds the controller to a manager.
func Add(mgr manager.Manager) error {
	r := &reconciler{client: mgr.GetClient()}
	err := builder.ControllerManagedBy(mgr).
		Named(Name).
		For(&clusterv1beta2.ManagedClusterSet{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&rbacv1.ClusterRole{}, handler.EnqueueRequestsFromMapFunc(ofRole)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the set role controller: %w", err)
	}
	return nil
}

// ofRole returns the set that a role belongs to, if any.
func ofRole(_ context.Context, role client.Object) []reconcile.Request {
	owner := metav1.GetControllerOf(role)
	if owner == nil || owner.Kind != "ManagedClusterSet" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: owner.Name}}}
}

// reconciler keeps the roles of one set at a time.
type reconciler struct {
	client client.Client
}

// Reconcile makes the roles of a set what they must be. A role that cannot be written keeps no other from it.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	set := &clusterv1beta2.ManagedClusterSet{}
	if err := r.client.Get(ctx, request.NamespacedName, set); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !set.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	var faults []error
	for _, level := range levels() {
		faults = append(faults, r.keep(ctx, wanted(level, set)))
	}
	return reconcile.Result{}, errors.Join(faults...)
}

// keep makes a role, or puts back what was changed in it.
func (r *reconciler) keep(ctx context.Context, want *rbacv1.ClusterRole) error {
	role := &rbacv1.ClusterRole{}
	err := r.client.Get(ctx, client.ObjectKeyFromObject(want), role)
	if apierrors.IsNotFound(err) {
		return r.create(ctx, want)
	}
	if err != nil {
		return fmt.Errorf("reading ClusterRole %s: %w", want.Name, err)
	}
	owner := metav1.GetControllerOf(role)
	switch {
	case owner == nil:
		log.FromContext(ctx).Info("leaving alone a role that somebody else made", "role", role.Name)
		return nil
	case owner.UID != want.OwnerReferences[0].UID:
		return nil // of a set of this name that is gone; so will be the role, which wakes the set
	}
	return r.restore(ctx, role, want)
}

func (r *reconciler) create(ctx context.Context, role *rbacv1.ClusterRole) error {
	if err := r.client.Create(ctx, role); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating ClusterRole %s: %w", role.Name, err)
	}
	return nil
}

func (r *reconciler) restore(ctx context.Context, role, want *rbacv1.ClusterRole) error {
	next := role.DeepCopy()
	next.Rules, next.AggregationRule = want.Rules, nil
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	maps.Copy(next.Labels, want.Labels) // further labels are for people to aggregate by
	if equality.Semantic.DeepEqual(next, role) {
		return nil
	}
	patch := client.MergeFromWithOptions(role, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, next, patch); err != nil && !apply.Superseded(err) { // the event of who was faster wakes the set
		return fmt.Errorf("restoring ClusterRole %s: %w", role.Name, err)
	}
	return nil
}
