// Package profile runs the controller that publishes the fleet in the kinds of SIG Multicluster: a ClusterProfile for each cluster in each
// namespace that may use it, and each decision of a placement as PlacementDecisions of the group multicluster.x-k8s.io.
//
// It decides nothing: bindings and sets give the profiles, and the stored slices of the placements give the decisions. It runs only
// where it is named. The invariants: a profile of another cluster manager is never changed; an object is written only where a value of it
// changes, so a heartbeat writes nothing; a cluster that stays selected is in the stored decisions at every instant.
package profile

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/changes"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "profile"

const (
	// bySet is the index of bindings by set.
	bySet = "profile.set"
	// workers is how many profiles are written concurrently.
	workers = 8
	// writesPerSecond bounds the writes, so that a new binding of a large set delays no decision for long.
	writesPerSecond = 500
)

// Add adds the controller to a manager. The hub must have the definitions of ClusterProfile and PlacementDecision.
func Add(ctx context.Context, mgr manager.Manager, options Options) error {
	for _, kind := range []string{"ClusterProfile", "PlacementDecision"} {
		group := schema.GroupKind{Group: multiclusterv1alpha1.GroupName, Kind: kind}
		if _, err := mgr.GetRESTMapper().RESTMapping(group, multiclusterv1alpha1.GroupVersion.Version); err != nil {
			return fmt.Errorf("adding the profile controller: the hub does not serve %s; apply config/crd, or leave %s out of --controllers: %w",
				group, Name, err)
		}
	}
	err := mgr.GetFieldIndexer().IndexField(ctx, &clusterv1beta2.ManagedClusterSetBinding{}, bySet, func(object client.Object) []string {
		return []string{object.GetName()}
	})
	if err != nil {
		return fmt.Errorf("indexing bindings by set: %w", err)
	}
	w := &writer{client: mgr.GetClient(), pace: flowcontrol.NewTokenBucketRateLimiter(writesPerSecond, writesPerSecond)}
	r := &reconciler{
		client: mgr.GetClient(), writer: w, recorder: mgr.GetEventRecorder("profile-controller"), reach: newReach(mgr.GetClient()),
		clock: options.Clock, of: identity{options.Manager, options.AccessProvider}, blocked: map[client.ObjectKey]bool{},
	}
	w.metrics = NewMetrics(options.Registry, r.blockedProfiles)
	if err := r.watch(mgr); err != nil {
		return fmt.Errorf("adding the profile controller: %w", err)
	}
	d := &decisionReconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), writer: w, recorder: r.recorder, clock: options.Clock, of: r.of,
		waiting: map[client.ObjectKey]time.Time{}, blocked: map[client.ObjectKey]string{}, incomplete: map[client.ObjectKey]incompleteDecision{},
	}
	if err := d.watch(mgr); err != nil {
		return fmt.Errorf("adding the profile controller: %w", err)
	}
	return nil
}

// reconciler reconciles the profile of one cluster in one namespace.
type reconciler struct {
	client   client.Client
	writer   *writer
	recorder events.EventRecorder
	reach    *reach
	clock    clock.PassiveClock
	of       identity

	mu sync.Mutex // guards blocked
	// blocked are the profiles of other cluster managers that have the name of a cluster.
	blocked map[client.ObjectKey]bool
}

func (r *reconciler) watch(mgr manager.Manager) error {
	return builder.ControllerManagedBy(mgr).
		Named(Name).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.reach.ofCluster), builder.WithPredicates(profileChanged())).
		Watches(&clusterv1beta2.ManagedClusterSetBinding{}, handler.EnqueueRequestsFromMapFunc(r.reach.ofBinding),
			builder.WithPredicates(changes.Spec())).
		Watches(&clusterv1beta2.ManagedClusterSet{}, handler.EnqueueRequestsFromMapFunc(r.reach.ofSet),
			builder.WithPredicates(predicate.Or(changes.Spec(), changes.Of(selectorChanged)))).
		Watches(&multiclusterv1alpha1.ClusterProfile{}, &handler.EnqueueRequestForObject{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// selectorChanged reports whether a set may have other members.
func selectorChanged(before, after *clusterv1beta2.ManagedClusterSet) bool {
	return !equality.Semantic.DeepEqual(fleet.SelectorInEffect(before), fleet.SelectorInEffect(after))
}

// Reconcile writes or removes one profile.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	stored, err := r.stored(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	want, err := r.want(ctx, request.NamespacedName, stored)
	if err != nil {
		return reconcile.Result{}, err
	}
	todo := change(want, stored, r.of)
	r.block(request.NamespacedName, todo == verbBlocked, stored)
	return apply.Result(ctx, 0, r.writer.profile(ctx, todo, want, stored))
}

// stored returns the profile of a name; nil without one.
func (r *reconciler) stored(ctx context.Context, key client.ObjectKey) (*multiclusterv1alpha1.ClusterProfile, error) {
	out := &multiclusterv1alpha1.ClusterProfile{}
	if err := r.client.Get(ctx, key, out); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil //nolint:nilnil // nil is the profile that does not exist
		}
		return nil, fmt.Errorf("reading ClusterProfile %s: %w", key, err)
	}
	return out, nil
}

// want returns the desired profile; nil where there must be none.
func (r *reconciler) want(ctx context.Context, key client.ObjectKey,
	stored *multiclusterv1alpha1.ClusterProfile,
) (*multiclusterv1alpha1.ClusterProfile, error) {
	cluster := &clusterv1.ManagedCluster{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: key.Name}, cluster); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil //nolint:nilnil // nil is the profile that must not exist
		}
		return nil, fmt.Errorf("reading ManagedCluster %s: %w", key.Name, err)
	}
	if cluster.DeletionTimestamp != nil || importedFrom(cluster, key.Namespace) {
		return nil, nil //nolint:nilnil // as above
	}
	in, err := r.reach.membership(ctx, key.Namespace, cluster)
	if err != nil {
		return nil, err
	}
	own := stored
	if own != nil && !r.of.owns(own) {
		own = nil
	}
	if !in.wanted(own) {
		return nil, nil //nolint:nilnil // as above
	}
	return desired(cluster, key.Namespace, own, r.of, r.clock.Now()), nil
}

// block records whether a profile of another cluster manager is in the way, and emits an event about each, once.
func (r *reconciler) block(key client.ObjectKey, is bool, profile *multiclusterv1alpha1.ClusterProfile) {
	r.mu.Lock()
	was := r.blocked[key]
	if is {
		r.blocked[key] = true
	} else {
		delete(r.blocked, key)
	}
	r.mu.Unlock()
	if is && !was {
		event := profileBlockedEvent(profile.Spec.ClusterManager.Name, r.of.manager)
		r.recorder.Eventf(profile, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
}

func (r *reconciler) blockedProfiles() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.blocked)
}
