// Package health runs the controller that labels each ManagedCluster with the health of its add-ons:
// feature.open-cluster-management.io/addon-<name> is available, unhealthy or unreachable. Placements select by these labels.
//
// It reads condition Available of the ManagedClusterAddOns in the namespace of the cluster, and writes no other label. While the cluster is
// Unknown, the controller sets this condition of its add-ons to Unknown too, since no agent reports it then. An add-on with customized
// health keeps it. The controller installs no add-on. The invariant: a cluster has a feature label exactly for each add-on in its namespace
// that is not being deleted.
package health

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/changes"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "addon"

const (
	// blockedRetry is the delay between attempts while another controller registers clusters.
	blockedRetry = 30 * time.Second
)

// Options configures the controller.
type Options struct {
	// Blocked reports whether another controller registers the clusters of the hub and writes the labels.
	Blocked func() bool
}

// Add adds the controller to a manager. The hub must have the definition of ManagedClusterAddOn.
func Add(mgr manager.Manager, options Options) error {
	kind := addonv1alpha1.GroupVersion.WithKind("ManagedClusterAddOn")
	if _, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		return fmt.Errorf("adding the addon controller: the hub does not serve ManagedClusterAddOn; apply config/crd, or leave "+
			"addon out of --controllers: %w", err)
	}
	r := &reconciler{client: mgr.GetClient(), options: options}
	err := builder.ControllerManagedBy(mgr).
		Named(Name).
		For(&clusterv1.ManagedCluster{}, builder.WithPredicates(labelsOrHealthChanged())).
		Watches(&addonv1alpha1.ManagedClusterAddOn{}, handler.EnqueueRequestsFromMapFunc(clusterOf)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the addon controller: %w", err)
	}
	return nil
}

// clusterOf returns the cluster of an add-on.
func clusterOf(_ context.Context, addOn client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: addOn.GetNamespace()}}}
}

// labelsOrHealthChanged passes changes of labels and of condition Available. Heartbeats change neither.
func labelsOrHealthChanged() predicate.Predicate {
	return changes.Of(func(before, after *clusterv1.ManagedCluster) bool {
		return !maps.Equal(before.Labels, after.Labels) || statusOf(before) != statusOf(after)
	})
}

func statusOf(cluster *clusterv1.ManagedCluster) string {
	condition := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	if condition == nil {
		return ""
	}
	return string(condition.Status)
}

// reconciler reconciles the feature labels of clusters.
type reconciler struct {
	client  client.Client
	options Options
}

// Reconcile writes the feature labels of a cluster that differ.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if r.options.Blocked() {
		return reconcile.Result{RequeueAfter: blockedRetry}, nil
	}
	cluster := &clusterv1.ManagedCluster{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: request.Name}, cluster); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var addOns addonv1alpha1.ManagedClusterAddOnList
	if err := r.client.List(ctx, &addOns, client.InNamespace(cluster.Name)); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing the add-ons of ManagedCluster %s: %w", cluster.Name, err)
	}
	return apply.Result(ctx, 0, r.write(ctx, cluster, addOns.Items))
}

// write writes the labels of a cluster and the conditions of its add-ons that differ.
func (r *reconciler) write(ctx context.Context, cluster *clusterv1.ManagedCluster, addOns []addonv1alpha1.ManagedClusterAddOn) error {
	next := cluster.DeepCopy()
	next.Labels = labels(cluster, addOns)
	if cluster.DeletionTimestamp.IsZero() && !equality.Semantic.DeepEqual(next.Labels, cluster.Labels) {
		if err := r.client.Patch(ctx, next, apply.Fenced(cluster)); err != nil {
			return fmt.Errorf("writing the feature labels of ManagedCluster %s: %w", cluster.Name, err)
		}
		log.FromContext(ctx).Info("the feature labels of the cluster changed", "addOns", len(addOns))
	}
	for i := range addOns {
		unknown := withUnknownHealth(cluster, &addOns[i])
		if unknown == nil {
			continue
		}
		if err := r.client.Status().Patch(ctx, unknown, apply.Fenced(&addOns[i])); err != nil {
			return fmt.Errorf("writing the health of ManagedClusterAddOn %s/%s: %w", cluster.Name, addOns[i].Name, err)
		}
	}
	return nil
}
