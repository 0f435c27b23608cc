// Package setrole runs the controller of the ClusterRoles of each set: for its admins, its binders and its viewers. It creates the roles
// with the set and restores them after a change. They are deleted with the set. The admin role of an exclusive set names the clusters
// of the set.
//
// It binds no role to any user and changes no role that it did not create. The API server lets it grant only permissions that the manager
// has. It needs two policies of config/manager. Without berth-set-roles, a user who may write ClusterRoles could empty a role, bind the
// empty role, and wait until this controller restores its permissions. Without berth-set-admins, the admins of a set could accept its
// clusters, so the admin role names no cluster while that policy is missing.
package setrole

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/apply"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "setrole"

const (
	// pausePerCluster throttles the writes of a role: each write holds all clusters of the set, and the API server checks each name.
	// After a write the next one waits this long for each cluster in the role, so that the cost of n moves in a row grows with n, not
	// with its square. A single move is written at once.
	pausePerCluster = time.Millisecond
	// guardRetry is the delay between checks for a missing guard.
	guardRetry = time.Minute
)

// The manager needs every permission that the roles grant: the API server refuses to grant more.
//
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets/bind;managedclustersets/join;managedclusters/label,verbs=create
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch;update;patch;delete
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters/setadmin,verbs=get;update;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles,verbs=list;watch;create;patch

// Options configures the controller.
type Options struct {
	Clock clock.PassiveClock
	// Guarded reports whether the API server limits what the admins of a set may change of its clusters.
	Guarded func(ctx context.Context) (bool, error)
}

// Add adds the controller to a manager.
func Add(ctx context.Context, mgr manager.Manager, options Options) error {
	r := &reconciler{client: mgr.GetClient(), guarded: options.Guarded, clock: options.Clock, nextWrite: map[string]time.Time{}}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &clusterv1.ManagedCluster{}, clustersBySet, setLabel); err != nil {
		return fmt.Errorf("indexing clusters by set: %w", err)
	}
	err := builder.ControllerManagedBy(mgr).
		Named(Name).
		For(&clusterv1beta2.ManagedClusterSet{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&rbacv1.ClusterRole{}, handler.EnqueueRequestsFromMapFunc(setOfRole)).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(setsOfCluster), builder.WithPredicates(setLabelChanged())).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the set role controller: %w", err)
	}
	return nil
}

// setOfRole returns the set that owns a role, if any.
func setOfRole(_ context.Context, role client.Object) []reconcile.Request {
	owner := metav1.GetControllerOf(role)
	if owner == nil || owner.Kind != "ManagedClusterSet" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: owner.Name}}}
}

// reconciler reconciles the roles of sets.
type reconciler struct {
	client  client.Client
	guarded func(context.Context) (bool, error)
	clock   clock.PassiveClock
	// nextWrite is when the roles of a set may be written again, by set. Only the one worker reads and writes it.
	nextWrite map[string]time.Time
}

// Reconcile creates and restores the roles of a set. A failure does not stop the other roles.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	set := &clusterv1beta2.ManagedClusterSet{}
	if err := r.client.Get(ctx, request.NamespacedName, set); err != nil {
		delete(r.nextWrite, request.Name)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !set.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	if wait := r.nextWrite[set.Name].Sub(r.clock.Now()); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	clusters, guarded, err := r.clusters(ctx, set)
	faults := []error{err}
	for _, level := range levels() {
		if err != nil && level == Admin {
			continue // it stays as it is while its clusters are unknown
		}
		faults = append(faults, r.ensureRole(ctx, desiredRole(level, set, clusters), len(clusters)))
	}
	if err := errors.Join(faults...); err != nil || guarded {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: guardRetry}, nil
}

// ensureRole creates or restores a role.
func (r *reconciler) ensureRole(ctx context.Context, want *rbacv1.ClusterRole, clusters int) error {
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
		log.FromContext(ctx).Info("not changing a role that another client created", "role", role.Name)
		return nil
	case owner.UID != want.OwnerReferences[0].UID:
		return nil // it belongs to a deleted set of this name; its deletion enqueues the set
	}
	written, err := r.restore(ctx, role, want)
	if written {
		r.nextWrite[owner.Name] = r.clock.Now().Add(time.Duration(clusters) * pausePerCluster)
	}
	return err
}

func (r *reconciler) create(ctx context.Context, role *rbacv1.ClusterRole) error {
	if err := r.client.Create(ctx, role); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating ClusterRole %s: %w", role.Name, err)
	}
	return nil
}

// restore restores the rules and the labels of a role if they differ.
func (r *reconciler) restore(ctx context.Context, role, want *rbacv1.ClusterRole) (written bool, err error) {
	next := role.DeepCopy()
	next.Rules, next.AggregationRule = want.Rules, nil
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	maps.Copy(next.Labels, want.Labels) // further labels are for administrators to aggregate by
	if equality.Semantic.DeepEqual(next, role) {
		return false, nil
	}
	patch := apply.Fenced(role)
	if err := r.client.Patch(ctx, next, patch); err != nil && !apply.IsConflict(err) { // the event of the other write enqueues the set
		return true, fmt.Errorf("restoring ClusterRole %s: %w", role.Name, err)
	}
	return true, nil
}
