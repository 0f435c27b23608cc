// Package set runs the controller that reports the number of clusters in each ManagedClusterSet and conflicts between exclusive
// sets. It also creates and restores the sets `default` and `global`.
//
// fleet.Set decides the membership, for the engine and for this controller. A set with an invalid selector gets a condition and does
// not affect the others.
package set

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/apply"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "clusterset"

// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets/status,verbs=patch

// Options configures the controller. The manager sets them.
type Options struct {
	Clock clock.PassiveClock
	// FollowEmptyingEdits makes an edit of a selector count though every member leaves by it.
	FollowEmptyingEdits bool
}

// Add adds the controller to a manager.
func Add(mgr manager.Manager, options Options) error {
	r := &reconciler{Options: options, client: mgr.GetClient(), index: newIndex()}
	RegisterMetrics(metrics.Registry, r.index.held)
	err := builder.ControllerManagedBy(mgr).
		Named(Name).
		WatchesRawSource(&source{cache: mgr.GetCache(), index: r.index}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the cluster set controller: %w", err)
	}
	return nil
}

// reconciler reconciles sets.
type reconciler struct {
	Options

	client client.Client
	index  *index
}

// Reconcile restores a built-in set, and writes the conditions of a set.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	set := &clusterv1beta2.ManagedClusterSet{}
	err := r.client.Get(ctx, request.NamespacedName, set)
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, r.create(ctx, request.Name)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("reading ManagedClusterSet %s: %w", request.Name, err)
	case !set.DeletionTimestamp.IsZero():
		return reconcile.Result{}, nil
	}
	err = r.restore(ctx, set)
	if err == nil {
		err = r.report(ctx, set)
	}
	if apply.IsConflict(err) { // the event of the other write enqueues the set
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, err
}

// report takes the selector of a set, and writes it with the conditions of the set if they changed.
func (r *reconciler) report(ctx context.Context, set *clusterv1beta2.ManagedClusterSet) error {
	next := set.DeepCopy()
	setConditions(next, r.take(next), r.Clock.Now())
	if equality.Semantic.DeepEqual(next.Status, set.Status) {
		return nil
	}
	patch := apply.Fenced(set)
	if err := r.client.Status().Patch(ctx, next, patch); err != nil {
		return fmt.Errorf("writing the status of ManagedClusterSet %s: %w", set.Name, err)
	}
	return nil
}

// take takes the selector of a set, unless every member would leave by it. It returns what there is to report of the set.
func (r *reconciler) take(set *clusterv1beta2.ManagedClusterSet) setState {
	taken, held := fleet.TakeSelector(set, r.index.members)
	if held && r.FollowEmptyingEdits {
		taken, held = set.Spec.ClusterSelector.DeepCopy(), false
	}
	set.Status.ClusterSelector = taken
	compiled := fleet.NewSet(set)
	out := setState{faults: compiled.Errors, members: r.index.members(compiled), conflicting: r.index.conflicting(set), held: held}
	if held {
		out.unknown = r.index.unknown(fleet.SetOfSpec(set))
	}
	return out
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}
