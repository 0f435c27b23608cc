// Package binding runs the controller that reports whether the set of each ManagedClusterSetBinding exists. It never deletes a binding: a
// user created it, and the set may be created again.
package binding

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/changes"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "binding"

// bySet is the index of bindings by set.
const bySet = "spec.clusterSet"

// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets;managedclustersetbindings,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersetbindings/status,verbs=patch

// Add adds the controller to a manager.
func Add(ctx context.Context, mgr manager.Manager, clock clock.PassiveClock) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &clusterv1beta2.ManagedClusterSetBinding{}, bySet, func(object client.Object) []string {
		return []string{object.GetName()}
	})
	if err != nil {
		return fmt.Errorf("indexing bindings by set: %w", err)
	}
	r := &reconciler{client: mgr.GetClient(), clock: clock}
	err = builder.ControllerManagedBy(mgr).
		Named(Name).
		For(&clusterv1beta2.ManagedClusterSetBinding{}).
		Watches(&clusterv1beta2.ManagedClusterSet{}, handler.EnqueueRequestsFromMapFunc(r.bindingsOf),
			builder.WithPredicates(changes.Existence())).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the binding controller: %w", err)
	}
	return nil
}

// reconciler reconciles bindings.
type reconciler struct {
	client client.Client
	clock  clock.PassiveClock
}

// Reconcile writes the condition Bound of a binding if it changed.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	binding := &clusterv1beta2.ManagedClusterSetBinding{}
	if err := r.client.Get(ctx, request.NamespacedName, binding); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	err := r.client.Get(ctx, client.ObjectKey{Name: binding.Name}, &clusterv1beta2.ManagedClusterSet{})
	if err != nil && !apierrors.IsNotFound(err) {
		return reconcile.Result{}, fmt.Errorf("reading ManagedClusterSet %s: %w", binding.Name, err)
	}
	next := binding.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, boundCondition(err == nil, binding.Generation, r.clock.Now()))
	if equality.Semantic.DeepEqual(next.Status, binding.Status) {
		return reconcile.Result{}, nil
	}
	patch := apply.Fenced(binding)
	err = r.client.Status().Patch(ctx, next, patch)
	if err != nil && !apply.IsConflict(err) { // the event of the other write enqueues the binding
		return reconcile.Result{}, fmt.Errorf("writing the status of ManagedClusterSetBinding %s: %w", request, err)
	}
	return reconcile.Result{}, nil
}

// boundCondition returns the condition Bound.
func boundCondition(exists bool, generation int64, now time.Time) metav1.Condition {
	out := metav1.Condition{
		Type: clusterv1beta2.ClusterSetBindingBoundType, Status: metav1.ConditionFalse,
		Reason: clusterv1beta2.ReasonClusterSetNotFound, ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	}
	if exists {
		out.Status, out.Reason = metav1.ConditionTrue, clusterv1beta2.ReasonClusterSetBound
	}
	return out
}

// bindingsOf returns the bindings of a set.
func (r *reconciler) bindingsOf(ctx context.Context, set client.Object) []reconcile.Request {
	bindings := &clusterv1beta2.ManagedClusterSetBindingList{}
	if err := r.client.List(ctx, bindings, client.MatchingFields{bySet: set.GetName()}); err != nil {
		return nil // this fails only while the cache starts, and then every binding is enqueued anyway
	}
	out := make([]reconcile.Request, 0, len(bindings.Items))
	for i := range bindings.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&bindings.Items[i])})
	}
	return out
}
