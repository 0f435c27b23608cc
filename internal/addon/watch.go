package addon

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/internal/kube/changes"
	"github.com/berth-project/berth/internal/kube/member"
)

const (
	// nameIndex indexes the ManagedClusterAddOns by name.
	nameIndex = "berth.name"
	// placementIndex indexes the add-ons by their placements, as "<namespace>/<name>".
	placementIndex = "berth.placement"
)

// queue is the type of queue that controller-runtime expects.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func (r *reconciler) watch(ctx context.Context, mgr manager.Manager) error {
	byName := func(object client.Object) []string { return []string{object.GetName()} }
	if err := mgr.GetFieldIndexer().IndexField(ctx, &addonv1alpha1.ManagedClusterAddOn{}, nameIndex, byName); err != nil {
		return fmt.Errorf("indexing the ManagedClusterAddOns: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &addonv1alpha1.ClusterManagementAddOn{}, placementIndex, placementsOf); err != nil {
		return fmt.Errorf("indexing the add-ons: %w", err)
	}
	err := builder.ControllerManagedBy(mgr).
		Named(Name).
		For(&addonv1alpha1.ClusterManagementAddOn{}, builder.WithPredicates(changesPlan())).
		Watches(&addonv1alpha1.ManagedClusterAddOn{}, r.installedHandler()).
		Watches(&clusterv1beta1.Placement{}, handler.EnqueueRequestsFromMapFunc(
			func(ctx context.Context, object client.Object) []reconcile.Request {
				return r.addOnsOf(ctx, object.GetNamespace(), object.GetName())
			})).
		Watches(&clusterv1beta1.PlacementDecision{}, handler.EnqueueRequestsFromMapFunc(
			func(ctx context.Context, object client.Object) []reconcile.Request {
				return r.addOnsOf(ctx, object.GetNamespace(), object.GetLabels()[clusterv1beta1.PlacementLabel])
			})).
		Watches(&clusterv1.ManagedCluster{}, r.allHandler(), builder.WithPredicates(changesCluster())).
		Watches(&clusterv1.ManagedCluster{}, r.memberHandler()).
		Watches(object(deploymentConfigKind), r.configHandler(deploymentConfigs)).
		Watches(object(templateKind), r.configHandler(templates)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("watching add-ons: %w", err)
	}
	return nil
}

// changesPlan passes the changes of an add-on that may change its plan. Its status does not.
func changesPlan() predicate.Predicate {
	return predicate.Or(changes.Spec(), predicate.AnnotationChangedPredicate{})
}

// changesCluster passes a new cluster, a deleted cluster, and changes of the annotations of add-ons.
func changesCluster() predicate.Predicate {
	ofAddOns := func(object client.Object) map[string]string {
		out := map[string]string{}
		for key, value := range object.GetAnnotations() {
			if strings.HasPrefix(key, addonv1alpha1.AnnotationPrefix) {
				out[key] = value
			}
		}
		return out
	}
	return changes.Of(func(before, after client.Object) bool {
		return changes.Deletion(before, after) || !maps.Equal(ofAddOns(before), ofAddOns(after))
	})
}

// placementsOf returns the placements of an add-on.
func placementsOf(object client.Object) []string {
	addOn, ok := object.(*addonv1alpha1.ClusterManagementAddOn)
	if !ok {
		return nil
	}
	var out []string
	for _, placement := range addOn.Spec.InstallStrategy.Placements {
		out = append(out, placement.Namespace+"/"+placement.Name)
	}
	return out
}

// addOnsOf returns the add-ons that name a placement.
func (r *reconciler) addOnsOf(ctx context.Context, namespace, placement string) []reconcile.Request {
	return r.requests(ctx, func(*addonv1alpha1.ClusterManagementAddOn) bool { return true },
		client.MatchingFields{placementIndex: namespace + "/" + placement})
}

// requests returns a request for each add-on that matches.
func (r *reconciler) requests(ctx context.Context, matches func(*addonv1alpha1.ClusterManagementAddOn) bool,
	options ...client.ListOption,
) []reconcile.Request {
	list := &addonv1alpha1.ClusterManagementAddOnList{}
	if err := r.client.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil // the cache is not read before it is ready
	}
	var out []reconcile.Request
	for i := range list.Items {
		if matches(&list.Items[i]) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Name: list.Items[i].Name}})
		}
	}
	return out
}

// batched returns a handler that enqueues what a function returns. Changes are collected for a moment, so that a thousand are one pass.
func batched(requests func(ctx context.Context, object client.Object) []reconcile.Request) handler.Funcs {
	enqueue := func(ctx context.Context, object client.Object, q queue) {
		for _, request := range requests(ctx, object) {
			q.AddAfter(request, batchDelay)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { enqueue(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, q) },
	}
}

// allHandler enqueues all add-ons.
func (r *reconciler) allHandler() handler.EventHandler {
	return batched(func(ctx context.Context, _ client.Object) []reconcile.Request {
		return r.requests(ctx, func(*addonv1alpha1.ClusterManagementAddOn) bool { return true })
	})
}

// memberHandler enqueues the add-ons whose rollouts are judged by a cluster that becomes Available, or is not any more.
func (r *reconciler) memberHandler() handler.EventHandler {
	return handler.Funcs{UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
		before, ok := e.ObjectOld.(*clusterv1.ManagedCluster)
		after, same := e.ObjectNew.(*clusterv1.ManagedCluster)
		if !ok || !same || member.Unavailable(before) == member.Unavailable(after) {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for name, s := range r.addOns {
			if s.members.Has(after.Name) {
				q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}, batchDelay)
			}
		}
	}}
}

// configHandler enqueues the add-ons that support a kind of configuration.
func (r *reconciler) configHandler(resource string) handler.EventHandler {
	return batched(func(ctx context.Context, _ client.Object) []reconcile.Request {
		return r.requests(ctx, func(addOn *addonv1alpha1.ClusterManagementAddOn) bool {
			for _, kind := range addOn.Spec.SupportedConfigs {
				if kind.Group == addonv1alpha1.GroupName && kind.Resource == resource {
					return true
				}
			}
			return false
		})
	})
}

// installedHandler enqueues the add-on of a ManagedClusterAddOn.
func (r *reconciler) installedHandler() handler.EventHandler {
	out := batched(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: object.GetName()}}}
	})
	enqueue := out.DeleteFunc
	out.DeleteFunc = func(ctx context.Context, e event.DeleteEvent, q queue) {
		if s := r.known(e.Object.GetName()); s != nil {
			s.installed.ObserveDelete(client.ObjectKeyFromObject(e.Object), e.Object.GetUID())
		}
		enqueue(ctx, e, q)
	}
	return out
}
