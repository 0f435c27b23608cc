// Package clusterset owns the loop over ManagedClusterSets: it reports how many clusters each has and whether another
// set claims the same label, and sees to it that the sets `default` and `global` exist as they must.
//
// It refuses to decide who is a member; fleet.Set says that, to the engine and to this loop alike. A set that cannot
// be read is reported as such and hides no other.
package clusterset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/apply"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "clusterset"

// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets/status,verbs=patch

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Add adds the controller to a manager.
func Add(mgr manager.Manager, clock clock.PassiveClock) error {
	r := &reconciler{client: mgr.GetClient(), clock: clock}
	err := builder.ControllerManagedBy(mgr).
		Named(Name).
		Watches(&clusterv1beta2.ManagedClusterSet{}, r.setEvents()).
		Watches(&clusterv1.ManagedCluster{}, r.clusterEvents()).
		WatchesRawSource(source.Func(wanted)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the cluster set controller: %w", err)
	}
	return nil
}

// wanted enqueues the sets that must exist, whether they do or not.
func wanted(_ context.Context, q queue) error {
	for name := range builtIn() {
		q.Add(request(name))
	}
	return nil
}

// reconciler reports one set at a time.
type reconciler struct {
	client client.Client
	clock  clock.PassiveClock
}

// Reconcile makes sure that a built-in set is as it must be, and reports the state of a set.
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
	if apply.Superseded(err) { // the event of who was faster brings the set back
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, err
}

// report writes the conditions of a set where they changed.
func (r *reconciler) report(ctx context.Context, set *clusterv1beta2.ManagedClusterSet) error {
	found, err := r.find(ctx, set)
	if err != nil {
		return err
	}
	next := set.DeepCopy()
	setConditions(next, found, r.clock.Now())
	if equality.Semantic.DeepEqual(next.Status, set.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(set, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, next, patch); err != nil {
		return fmt.Errorf("writing the status of ManagedClusterSet %s: %w", set.Name, err)
	}
	return nil
}

// find works out what there is to report of a set.
func (r *reconciler) find(ctx context.Context, set *clusterv1beta2.ManagedClusterSet) (out finding, err error) {
	compiled := fleet.NewSet(set)
	out.faults = compiled.Faults
	if out.members, err = r.members(ctx, compiled); err != nil {
		return out, err
	}
	out.rivals, err = r.rivals(ctx, set)
	return out, err
}

// members counts the clusters of a set.
func (r *reconciler) members(ctx context.Context, set *fleet.Set) (int, error) {
	clusters := &clusterv1.ManagedClusterList{}
	if err := r.client.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("listing managed clusters: %w", err)
	}
	count := 0
	for i := range clusters.Items {
		if set.Has(fleet.NewCluster(&clusters.Items[i])) {
			count++
		}
	}
	return count, nil
}

// rivals returns the names of the other sets that claim the same exclusive label, sorted.
func (r *reconciler) rivals(ctx context.Context, set *clusterv1beta2.ManagedClusterSet) ([]string, error) {
	label, exclusive := claim(set)
	if !exclusive {
		return nil, nil
	}
	sets, err := r.sets(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for i := range sets {
		if other, ok := claim(&sets[i]); ok && other == label && sets[i].Name != set.Name {
			out = append(out, sets[i].Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (r *reconciler) sets(ctx context.Context) ([]clusterv1beta2.ManagedClusterSet, error) {
	sets := &clusterv1beta2.ManagedClusterSetList{}
	if err := r.client.List(ctx, sets, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing managed cluster sets: %w", err)
	}
	return sets.Items, nil
}

// setEvents wakes the set itself and, where its claim came or went, the others that claim the same label.
func (r *reconciler) setEvents() handler.EventHandler {
	wake := func(ctx context.Context, q queue, states ...client.Object) {
		for _, state := range states {
			q.Add(request(state.GetName()))
			if set, ok := state.(*clusterv1beta2.ManagedClusterSet); ok {
				r.wakeRivals(ctx, q, set)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, q, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if e.ObjectOld.GetGeneration() == e.ObjectNew.GetGeneration() {
				q.Add(request(e.ObjectNew.GetName()))
				return
			}
			wake(ctx, q, e.ObjectOld, e.ObjectNew)
		},
	}
}

func (r *reconciler) wakeRivals(ctx context.Context, q queue, set *clusterv1beta2.ManagedClusterSet) {
	rivals, err := r.rivals(ctx, set)
	if err != nil {
		return // the cache answers always but while it starts, and then every set is woken
	}
	for _, name := range rivals {
		q.Add(request(name))
	}
}

// clusterEvents wakes the sets that a cluster joins or leaves.
func (r *reconciler) clusterEvents() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { r.wakeSets(ctx, q, nil, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { r.wakeSets(ctx, q, e.Object, nil) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) {
				r.wakeSets(ctx, q, e.ObjectOld, e.ObjectNew)
			}
		},
	}
}

func (r *reconciler) wakeSets(ctx context.Context, q queue, before, after client.Object) {
	sets, err := r.sets(ctx)
	if err != nil {
		return // the cache answers always but while it starts, and then every set is woken
	}
	was, is := cluster(before), cluster(after)
	for i := range sets {
		set := fleet.NewSet(&sets[i])
		if (was != nil && set.Has(was)) != (is != nil && set.Has(is)) {
			q.Add(request(set.Name))
		}
	}
}

func cluster(object client.Object) *fleet.Cluster {
	typed, ok := object.(*clusterv1.ManagedCluster)
	if !ok {
		return nil
	}
	return fleet.NewCluster(typed)
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}
