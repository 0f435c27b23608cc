// Package inventory runs the controller that makes ManagedClusters of the ClusterProfiles of another cluster manager, so that placements
// select clusters that have no agent of this hub.
//
// It reads the profiles in the namespaces that an administrator names, and runs only where it is named. The invariants: it changes no
// cluster that another client made; a list that is empty or fails deletes nothing; a deleted profile deletes its cluster after a grace, and
// never many clusters at once; no heartbeat and no lease is expected of an imported cluster.
package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	multiclusterv1alpha1 "github.com/berth-project/berth/api/multicluster/v1alpha1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/source/page"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "inventory"

const (
	// workers is how many clusters are written concurrently.
	workers = 4
	// heldRetry is the delay after a deletion that must wait.
	heldRetry = time.Minute
	// unknownWait is how long a profile must report no health before its cluster is reported Unknown. A cluster manager that fails has
	// enough time to report so of many clusters.
	unknownWait = time.Minute
)

// Add adds the controller to a manager. The hub must have the definition of ClusterProfile.
func Add(mgr manager.Manager, options Options) error {
	kind := schema.GroupKind{Group: multiclusterv1alpha1.GroupName, Kind: "ClusterProfile"}
	if _, err := mgr.GetRESTMapper().RESTMapping(kind, multiclusterv1alpha1.GroupVersion.Version); err != nil {
		return fmt.Errorf("adding the inventory controller: the hub does not serve %s; apply config/crd, or leave %s out of --controllers: %w",
			kind, Name, err)
	}
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), recorder: mgr.GetEventRecorder("inventory-controller"), options: options,
		budget: newBudget(), counts: map[string]count{}, states: map[client.ObjectKey]string{}, losses: map[loss]lossState{},
		held: map[client.ObjectKey]bool{},
	}
	RegisterMetrics(options.Registry, r.countStates)
	named := predicate.NewPredicateFuncs(func(object client.Object) bool { return slices.Contains(options.Namespaces, object.GetNamespace()) })
	err := builder.ControllerManagedBy(mgr).
		Named(Name).
		For(&multiclusterv1alpha1.ClusterProfile{}, builder.WithPredicates(named)).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.profilesOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the inventory controller: %w", err)
	}
	return nil
}

// reconciler reconciles the cluster of one profile.
type reconciler struct {
	client client.Client
	// live reads from the API server, past the cache of the client.
	live     client.Reader
	recorder events.EventRecorder
	options  Options
	budget   *budget

	mu sync.Mutex // guards the rest
	// counts are the sizes of inventories, each as counted a moment ago.
	counts map[string]count
	// states are the states of profiles, for the metric.
	states map[client.ObjectKey]string
	// losses is since when profiles lack a part of what they reported before.
	losses map[loss]lossState
	// held are the clusters without their profiles whose deletion was refused.
	held map[client.ObjectKey]bool
}

// loss is a part of the report that a profile lacks, and had before.
type loss struct {
	key  client.ObjectKey
	part string
}

// lossState is since when a part is kept. Held is set while many profiles lack it: a cluster manager that returns writes them one by one,
// and the others have as long as at the start.
type lossState struct {
	since time.Time
	held  bool
}

const (
	lostHealth = "health"
	lostClaims = "claims"
)

// profilesOf returns the profiles that a cluster may follow: those with its name. Clusters of a namespace that is not named any more stay
// as they are.
func (r *reconciler) profilesOf(_ context.Context, cluster client.Object) []reconcile.Request {
	out := make([]reconcile.Request, 0, len(r.options.Namespaces))
	for _, namespace := range r.options.Namespaces {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: cluster.GetName()}})
	}
	return out
}

// Reconcile brings one cluster to its profile.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	in, err := r.gather(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	wait, err := r.keep(ctx, &in)
	if err != nil {
		return reconcile.Result{}, err
	}
	todo := plan(in)
	wait = max(wait, todo.wait)
	switch todo.verb {
	case verbCreate:
		err = r.create(ctx, todo.cluster)
	case verbUpdate:
		err = r.update(ctx, todo.cluster, in.cluster)
	case verbDelete:
		wait, err = r.delete(ctx, in)
	case verbNone, verbBlocked, verbRefused:
	}
	if err != nil {
		return apply.Result(ctx, 0, err)
	}
	r.setState(in, todo)
	return reconcile.Result{RequeueAfter: wait}, nil
}

// keep sets which parts of the last report a cluster keeps, because its profile lacks them. Wait is when to decide again; 0 for no wait.
func (r *reconciler) keep(ctx context.Context, in *input) (wait time.Duration, err error) {
	var forClaims time.Duration
	unknown := func(c count) bool { return tooMany(c.unknown, c.profiles) }
	bare := func(c count) bool { return tooMany(c.bare, c.withClaims) }
	if in.keepHealth, in.manyUnknown, wait, err = r.keepPart(ctx, in, lostHealth, in.losesHealth(), unknown); err != nil {
		return 0, err
	}
	if in.keepClaims, in.manyBare, forClaims, err = r.keepPart(ctx, in, lostClaims, in.losesClaims(), bare); err != nil {
		return 0, err
	}
	if wait == 0 || forClaims > 0 && forClaims < wait {
		wait = forClaims
	}
	return wait, nil
}

// keepPart reports whether a cluster keeps a part of its report: for a moment, or because many profiles of its inventory lack the part.
func (r *reconciler) keepPart(ctx context.Context, in *input, part string, lost bool,
	manyLack func(count) bool,
) (kept, many bool, wait time.Duration, err error) {
	which := loss{in.key, part}
	if !lost {
		r.mu.Lock()
		delete(r.losses, which)
		r.mu.Unlock()
		return false, false, 0, nil
	}
	r.mu.Lock()
	state, known := r.losses[which]
	r.mu.Unlock()
	if !known {
		state.since = in.now
	}
	wait = unknownWait - in.now.Sub(state.since)
	if wait <= 0 {
		size, err := r.size(ctx, in.key.Namespace, Label(in.key.Namespace, in.profile.Spec.ClusterManager.Name), in.now)
		if err != nil {
			return false, false, 0, err
		}
		switch many = manyLack(size); {
		case many:
			state.held, wait = true, heldRetry
		case state.held:
			state, wait = lossState{since: in.now}, unknownWait
		}
	}
	r.mu.Lock()
	r.losses[which] = state
	r.mu.Unlock()
	return wait > 0, many, max(wait, 0), nil
}

// gather reads what a plan is made from. A profile of this cluster manager counts as missing.
func (r *reconciler) gather(ctx context.Context, key client.ObjectKey) (input, error) {
	in := input{key: key, grace: r.options.Grace, now: r.options.Clock.Now()}
	profile := &multiclusterv1alpha1.ClusterProfile{}
	err := r.client.Get(ctx, key, profile)
	if client.IgnoreNotFound(err) != nil {
		return in, fmt.Errorf("reading ClusterProfile %s: %w", key, err)
	}
	if err == nil && profile.DeletionTimestamp == nil && r.imports(profile) {
		in.profile = profile
	}
	cluster := &clusterv1.ManagedCluster{}
	err = r.client.Get(ctx, client.ObjectKey{Name: key.Name}, cluster)
	if client.IgnoreNotFound(err) != nil {
		return in, fmt.Errorf("reading ManagedCluster %s: %w", key.Name, err)
	}
	if err == nil {
		in.cluster = cluster
	}
	return in, nil
}

// imports reports whether a profile is one to import.
func (r *reconciler) imports(profile *multiclusterv1alpha1.ClusterProfile) bool {
	manager := profile.Spec.ClusterManager.Name
	return manager != "" && manager != r.options.Manager
}

// create stores a cluster, then its status, which a creation drops.
func (r *reconciler) create(ctx context.Context, want *clusterv1.ManagedCluster) error {
	ctx, cancel := context.WithTimeout(ctx, apply.Timeout)
	defer cancel()
	object := want.DeepCopy()
	if err := r.client.Create(ctx, object); err != nil {
		return fmt.Errorf("creating ManagedCluster %s: %w", want.Name, err)
	}
	return r.updateStatus(ctx, want, object)
}

// update stores the metadata and the status of a cluster, each only where it differs.
func (r *reconciler) update(ctx context.Context, want, stored *clusterv1.ManagedCluster) error {
	ctx, cancel := context.WithTimeout(ctx, apply.Timeout)
	defer cancel()
	latest := stored.DeepCopy()
	if !sameMetadata(want, stored) {
		before := latest.DeepCopy()
		latest.Labels, latest.Annotations = want.Labels, want.Annotations
		if err := r.client.Patch(ctx, latest, apply.Fenced(before)); err != nil {
			return fmt.Errorf("changing ManagedCluster %s: %w", want.Name, err)
		}
	}
	if sameStatus(want, stored) {
		return nil
	}
	return r.updateStatus(ctx, want, latest)
}

func (r *reconciler) updateStatus(ctx context.Context, want, latest *clusterv1.ManagedCluster) error {
	before := latest.DeepCopy()
	latest.Status = want.Status
	if err := r.client.Status().Patch(ctx, latest, apply.Fenced(before)); err != nil {
		return fmt.Errorf("writing the status of ManagedCluster %s: %w", want.Name, err)
	}
	return nil
}

// delete deletes a cluster whose profile is gone, if most clusters of its inventory have theirs, the budget permits, and the API server has
// other profiles of the inventory, and none of this name. Wait is when to try again.
func (r *reconciler) delete(ctx context.Context, in input) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, apply.Timeout)
	defer cancel()
	inventory := inventoryOf(in.cluster)
	size, err := r.size(ctx, in.key.Namespace, inventory, in.now)
	if err != nil {
		return 0, err
	}
	if size.profiles == 0 || !r.budget.permits(inventory, size.clusters, size.missing, in.now) {
		if r.hold(in.key) {
			log.FromContext(ctx).Info("a cluster without its profile stays for now", "profile", in.key, "clusters", size.clusters, "withoutProfile",
				size.missing, "otherProfiles", size.profiles)
		}
		return heldRetry, nil
	}
	if gone, err := r.isGone(ctx, in.key, inventory); err != nil || !gone {
		return heldRetry, err
	}
	if !r.budget.take(inventory, size.clusters, size.missing, in.now) {
		return heldRetry, nil
	}
	if err := client.IgnoreNotFound(r.client.Delete(ctx, in.cluster, apply.Unchanged(in.cluster))); err != nil {
		return 0, fmt.Errorf("deleting ManagedCluster %s: %w", in.cluster.Name, err)
	}
	log.FromContext(ctx).Info("deleted a cluster whose profile is gone", "profile", in.key)
	return 0, nil
}

// hold records that the deletion of a cluster is refused, and reports whether that is new.
func (r *reconciler) hold(key client.ObjectKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.held[key]
	r.held[key] = true
	return !was
}

// errFound ends a list.
var errFound = errors.New("found")

// isGone reports whether the API server has no profile of a name, and has another profile of the inventory. The cache may lack a profile
// that has returned, and a deletion may wait for a finalizer.
func (r *reconciler) isGone(ctx context.Context, key client.ObjectKey, inventory string) (bool, error) {
	profile := &multiclusterv1alpha1.ClusterProfile{}
	err := r.live.Get(ctx, key, profile)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading ClusterProfile %s: %w", key, err)
	}
	if err == nil && r.imports(profile) {
		return false, nil
	}
	err = page.Each(ctx, r.live, &multiclusterv1alpha1.ClusterProfileList{}, func(found *multiclusterv1alpha1.ClusterProfileList) error {
		for i := range found.Items {
			if p := &found.Items[i]; p.Name != key.Name && Label(p.Namespace, p.Spec.ClusterManager.Name) == inventory {
				return errFound
			}
		}
		return nil
	}, client.InNamespace(key.Namespace))
	if err != nil && !errors.Is(err, errFound) {
		return false, fmt.Errorf("listing the profiles in namespace %s: %w", key.Namespace, err)
	}
	return err != nil, nil
}

// count is the size of an inventory in the caches at an instant.
type count struct {
	at time.Time
	// clusters are imported from it, and missing of them lack their profiles. Of its profiles, unknown report no health. withClaims of the
	// clusters have claims, and the profiles of bare of these have no properties.
	clusters, missing, profiles, unknown, withClaims, bare int
}

// countInterval is how long a count is used, so that many clusters that wait do not count as often.
const countInterval = time.Second

// size returns the size of an inventory.
func (r *reconciler) size(ctx context.Context, namespace, inventory string, now time.Time) (count, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found, ok := r.counts[inventory]; ok && now.Sub(found.at) < countInterval {
		return found, nil
	}
	out := count{at: now}
	claimed := sets.New[string]()
	clusters := &clusterv1.ManagedClusterList{}
	if err := r.client.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return count{}, fmt.Errorf("listing the clusters of inventory %s: %w", inventory, err)
	}
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		if cluster.Annotations[clusterv1.InventoryProfileAnnotationKey] == "" || inventoryOf(cluster) != inventory {
			continue
		}
		if out.clusters++; meta.IsStatusConditionFalse(cluster.Status.Conditions, clusterv1.ManagedClusterConditionInventoried) {
			out.missing++
		}
		if len(cluster.Status.ClusterClaims) > 0 {
			claimed.Insert(cluster.Name)
		}
	}
	out.withClaims = claimed.Len()
	if err := r.countProfiles(ctx, namespace, inventory, claimed, &out); err != nil {
		return count{}, err
	}
	r.counts[inventory] = out
	return out, nil
}

// countProfiles counts the profiles of an inventory. Claimed are its clusters with claims.
func (r *reconciler) countProfiles(ctx context.Context, namespace, inventory string, claimed sets.Set[string], into *count) error {
	profiles := &multiclusterv1alpha1.ClusterProfileList{}
	if err := r.client.List(ctx, profiles, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the profiles of inventory %s: %w", inventory, err)
	}
	for i := range profiles.Items {
		profile := &profiles.Items[i]
		if Label(namespace, profile.Spec.ClusterManager.Name) != inventory {
			continue
		}
		if into.profiles++; reported(profile) && healthOf(profile) == metav1.ConditionUnknown {
			into.unknown++
		}
		if bare(profile) && claimed.Has(profile.Name) {
			into.bare++
		}
	}
	return nil
}

// setState records the state of a profile for the metric, and emits an event about a profile that is not imported, once.
func (r *reconciler) setState(in input, todo output) {
	state := ""
	switch {
	case todo.verb == verbBlocked, todo.verb == verbRefused, in.replaced():
		state = stateBlocked
	case in.profile != nil:
		state = stateImported
	case in.cluster != nil && follows(in.cluster, in.key):
		state = stateMissing
	}
	r.mu.Lock()
	was := r.states[in.key]
	if r.states[in.key] = state; state == "" {
		delete(r.states, in.key)
	}
	if state != stateMissing {
		delete(r.held, in.key)
	}
	r.mu.Unlock()
	if state != stateBlocked || was == state {
		return
	}
	event := blockedEvent(in.key.Name)
	if todo.verb == verbRefused {
		event = refusedEvent(in.key.Name, todo.fault)
	}
	r.recorder.Eventf(in.profile, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
}

// countStates returns the number of profiles by state.
func (r *reconciler) countStates() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]int{}
	for _, state := range r.states {
		out[state]++
	}
	return out
}
