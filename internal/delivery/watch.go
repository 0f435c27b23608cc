package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/changes"
)

const (
	// setIndex indexes the works by the label of their set.
	setIndex = "berth.set"
	// placementIndex indexes the sets by the names of their placements.
	placementIndex = "berth.placement"
)

var errNoIndexer = errors.New("the informer has no indexer")

// queue is the type of queue that controller-runtime expects.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Transform drops from a ManifestWork what no plan reads. The cache of the manager applies it.
func Transform(object any) (any, error) {
	if work, ok := object.(*workv1.ManifestWork); ok {
		return plan.Strip(work), nil
	}
	return object, nil
}

func (r *reconciler) watch(ctx context.Context, mgr manager.Manager) error {
	if err := r.indexWorks(ctx, mgr.GetCache()); err != nil {
		return err
	}
	err := mgr.GetFieldIndexer().IndexField(ctx, &workv1alpha1.ManifestWorkReplicaSet{}, placementIndex, placementsOf)
	if err != nil {
		return fmt.Errorf("indexing the sets: %w", err)
	}
	if err = mgr.GetFieldIndexer().IndexField(ctx, &clusterv1.ManagedCluster{}, importedIndex, indexImported); err != nil {
		return fmt.Errorf("indexing the imported clusters: %w", err)
	}
	err = builder.ControllerManagedBy(mgr).
		Named(Name).
		For(&workv1alpha1.ManifestWorkReplicaSet{}, builder.WithPredicates(changesPlan())).
		Watches(&clusterv1beta1.Placement{}, handler.EnqueueRequestsFromMapFunc(
			func(ctx context.Context, object client.Object) []reconcile.Request {
				return r.setsOf(ctx, object.GetNamespace(), object.GetName())
			})).
		Watches(&clusterv1beta1.PlacementDecision{}, handler.EnqueueRequestsFromMapFunc(
			func(ctx context.Context, object client.Object) []reconcile.Request {
				return r.setsOf(ctx, object.GetNamespace(), object.GetLabels()[clusterv1beta1.PlacementLabel])
			})).
		WatchesRawSource(r.controls(mgr.GetCache())).
		Watches(&workv1.ManifestWork{}, r.workHandler()).
		Watches(&clusterv1.ManagedCluster{}, r.clusterHandler()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("watching sets: %w", err)
	}
	return nil
}

// controls is the source of RolloutControls, which have the names of their sets. The controller starts without it, since a hub may lack the
// definition: they are watched once the hub has it.
func (r *reconciler) controls(informers cache.Cache) source.Source {
	enqueueSet := &handler.TypedEnqueueRequestForObject[*rolloutv1alpha1.RolloutControl]{}
	found := source.Kind(informers, &rolloutv1alpha1.RolloutControl{}, enqueueSet)
	return source.Func(func(ctx context.Context, queue queue) error {
		if r.options.RolloutControls() {
			return found.Start(ctx, queue)
		}
		go func() {
			err := wait.PollUntilContextCancel(ctx, definitionInterval, true, func(context.Context) (bool, error) {
				return r.options.RolloutControls(), nil
			})
			if err == nil {
				err = found.Start(ctx, queue)
			}
			if err != nil && !ended(ctx) {
				log.FromContext(ctx).Error(err, "RolloutControls are not watched: what people decide counts when the set is planned next")
			}
		}()
		return nil
	})
}

// definitionInterval is how often a missing definition is looked for.
const definitionInterval = 2 * time.Second

// indexWorks indexes the works by their sets. The index of the cache's own kind would have a second entry for each work, by its namespace.
func (r *reconciler) indexWorks(ctx context.Context, informers cache.Informers) error {
	informer, err := informers.GetInformer(ctx, &workv1.ManifestWork{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("indexing the works: %w", err)
	}
	shared, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return fmt.Errorf("indexing the works: %w: %T", errNoIndexer, informer)
	}
	err = shared.AddIndexers(toolscache.Indexers{setIndex: func(object any) ([]string, error) {
		if work, ok := object.(*workv1.ManifestWork); ok && work.Labels[workv1.ReplicaSetLabel] != "" {
			return []string{work.Labels[workv1.ReplicaSetLabel]}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return fmt.Errorf("indexing the works: %w", err)
	}
	r.works = shared.GetIndexer()
	return nil
}

// worksOf returns the works with the label of a set, in no order. They are read-only.
func (r *reconciler) worksOf(label string) ([]*workv1.ManifestWork, error) {
	found, err := r.works.ByIndex(setIndex, label)
	if err != nil {
		return nil, fmt.Errorf("listing the works with the label %s: %w", label, err)
	}
	out := make([]*workv1.ManifestWork, 0, len(found))
	for _, each := range found {
		if work, ok := each.(*workv1.ManifestWork); ok {
			out = append(out, work)
		}
	}
	return out, nil
}

// placementsOf returns the names of the placements of a set.
func placementsOf(object client.Object) []string {
	set, ok := object.(*workv1alpha1.ManifestWorkReplicaSet)
	if !ok {
		return nil
	}
	var out []string
	for _, reference := range set.Spec.PlacementRefs {
		out = append(out, reference.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// setsOf returns the sets that name a placement.
func (r *reconciler) setsOf(ctx context.Context, namespace, placement string) []reconcile.Request {
	list := &workv1alpha1.ManifestWorkReplicaSetList{}
	err := r.client.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{placementIndex: placement},
		client.UnsafeDisableDeepCopy)
	if err != nil || placement == "" {
		return nil // the cache is not read before it is ready
	}
	var out []reconcile.Request
	for i := range list.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return out
}

// changesPlan passes the changes of a set that may change its plan. Its status does not.
func changesPlan() predicate.Predicate {
	finalizers := changes.Of(func(before, after client.Object) bool {
		return !slices.Equal(before.GetFinalizers(), after.GetFinalizers())
	})
	return predicate.Or(changes.Spec(), predicate.LabelChangedPredicate{}, finalizers)
}

// workHandler enqueues the set of a work whose state, labels or annotations changed. Changes are collected for a moment, so that a
// thousand reports are one pass.
func (r *reconciler) workHandler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*workv1.ManifestWork)
			after, same := e.ObjectNew.(*workv1.ManifestWork)
			if ok && same && plan.SameState(before, after) {
				return
			}
			enqueue(e.ObjectOld, q)
			enqueue(e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			if namespace, name, ok := plan.SetOf(e.Object.GetLabels(), e.Object.GetAnnotations()); ok {
				if s := r.known(client.ObjectKey{Namespace: namespace, Name: name}); s != nil {
					s.works.ObserveDelete(client.ObjectKeyFromObject(e.Object), e.Object.GetUID())
				}
			}
			enqueue(e.Object, q)
		},
	}
}

// enqueue enqueues the set of a work, if it has one.
func enqueue(work client.Object, q queue) {
	if namespace, name, ok := plan.SetOf(work.GetLabels(), work.GetAnnotations()); ok {
		q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}, batchDelay)
	}
}
