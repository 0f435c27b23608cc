// Package addon runs the controller that installs add-ons on the clusters of placements, and brings their configurations to them.
//
// It decides nothing: package plan plans, and this package reads, writes and reports. It keeps in memory its own writes until the cache
// shows them, the refusals of the API server, the removals of the last minute, and the hashes of configurations that it does not watch. All
// of them may be lost: a restart on a settled hub writes nothing. The invariant: an object without an owner reference to its add-on is
// never deleted.
package addon

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/internal/kube/when"
	"github.com/berth-project/berth/internal/source/placed"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "addoninstall"

const (
	// workers is how many add-ons are planned concurrently.
	workers = 4
	// maxConcurrent bounds the concurrent writes of all add-ons, maxWrites the writes of one pass.
	maxConcurrent = 32
	maxWrites     = 4 * maxConcurrent
	// statusInterval is the least time between two status writes of an add-on.
	statusInterval = time.Second
	// batchDelay is how long changes are collected before the next pass of their add-on.
	batchDelay = 100 * time.Millisecond
	// blockedRetry is between attempts while another controller installs
	// the add-ons of the hub.
	blockedRetry = 30 * time.Second
)

// Options configures the controller.
type Options struct {
	Clock clock.PassiveClock
	// Leases means that the cache of the manager has the leases of clusters, so that a soak waits for a sign of life.
	Leases bool
	// Going returns the clusters that a placement has by a right that is being withdrawn, each with that right. Nil: never any.
	Going func(placement client.ObjectKey) map[string]string
	// Blocked reports whether another controller installs the add-ons of the hub, so that this controller must not write.
	Blocked func() bool
	// Registry is where the metrics are registered.
	Registry prometheus.Registerer
	// ManifestLimit is how many bytes the manifests of the work of a template may have together; 0 for the default.
	ManifestLimit int
}

// Add adds the controller to a manager. The hub must have the definitions of add-ons.
func Add(ctx context.Context, mgr manager.Manager, options Options) error {
	for _, kind := range []string{"ClusterManagementAddOn", "ManagedClusterAddOn", deploymentConfigKind, templateKind} {
		found := addonv1alpha1.GroupVersion.WithKind(kind)
		if _, err := mgr.GetRESTMapper().RESTMapping(found.GroupKind(), found.Version); err != nil {
			return fmt.Errorf("adding the addoninstall controller: the hub does not serve %s; apply config/crd, or leave "+
				"addoninstall out of --controllers: %w", kind, err)
		}
	}
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), options: options, pool: make(apply.Pool, maxConcurrent),
		addOns: map[string]*addOnState{},
		configs: &configReader{
			cached: mgr.GetCache(), live: mgr.GetAPIReader(), mapper: mgr.GetRESTMapper(), pool: make(apply.Pool, concurrentReads),
			read: map[plan.Object]readConfig{},
		},
	}
	r.recorder, r.metrics = mgr.GetEventRecorder("addoninstall-controller"), NewMetrics(options.Registry, r.observed)
	if err := r.watch(ctx, mgr); err != nil {
		return fmt.Errorf("adding the addoninstall controller: %w", err)
	}
	if err := addTemplates(mgr, options); err != nil {
		return fmt.Errorf("adding the addoninstall controller: %w", err)
	}
	return nil
}

// reconciler reconciles add-ons.
type reconciler struct {
	client client.Client
	// live reads from the API server, past the cache of the client.
	live    client.Reader
	options Options
	configs *configReader
	// pool has a place for each concurrent write.
	pool     apply.Pool
	recorder events.EventRecorder
	metrics  *Metrics

	mu     sync.Mutex // guards addOns
	addOns map[string]*addOnState
}

// state returns the state of an add-on.
func (r *reconciler) state(name string) *addOnState {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.addOns[name]
	if s == nil {
		s = &addOnState{started: r.options.Clock.Now()}
		r.addOns[name] = s
	}
	return s
}

// known returns the state of an add-on; nil for an add-on that was not reconciled.
func (r *reconciler) known(name string) *addOnState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.addOns[name]
}

func (r *reconciler) remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.addOns, name)
}

// Reconcile makes one pass over an add-on.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if r.options.Blocked() {
		return reconcile.Result{RequeueAfter: blockedRetry}, nil
	}
	cached := &addonv1alpha1.ClusterManagementAddOn{}
	if err := r.client.Get(ctx, request.NamespacedName, cached); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.remove(request.Name)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("reading ClusterManagementAddOn %s: %w", request.Name, err)
	}
	s := r.state(request.Name)
	if err := r.readFirst(ctx, s, request.Name); err != nil {
		return reconcile.Result{}, err
	}
	after, err := r.pass(ctx, s, s.addOns.Latest(cached))
	return apply.Result(ctx, after, err)
}

// readFirst reads an add-on from the API server when the process meets it: the manager before this one may have stored a record that the
// cache does not show yet. It lists, since the role of the controller has no verb get.
func (r *reconciler) readFirst(ctx context.Context, s *addOnState, name string) error {
	if s.read {
		return nil
	}
	live := &addonv1alpha1.ClusterManagementAddOnList{}
	if err := r.live.List(ctx, live, client.MatchingFields{"metadata.name": name}); err != nil {
		return fmt.Errorf("reading ClusterManagementAddOn %s: %w", name, err)
	}
	for i := range live.Items {
		s.addOns.Set(&live.Items[i], r.options.Clock.Now())
	}
	s.read = true
	return nil
}

// pass plans an add-on, sends the writes and reports the status. After is when to plan again; 0 for a change only.
func (r *reconciler) pass(ctx context.Context, s *addOnState,
	addOn *addonv1alpha1.ClusterManagementAddOn,
) (after time.Duration, err error) {
	in, refresh, err := r.gather(ctx, s, addOn)
	if err != nil {
		return 0, err
	}
	out := plan.Plan(in)
	s.observe(out)
	if wait := s.untilReport(in.Now); out.Departs && wait > 0 {
		return wait, nil // what leaves is counted in the status that is stored with it
	}
	writes := out.Writes[:min(len(out.Writes), maxWrites)]
	conflict := r.send(ctx, s, addOn.Name, writes)
	wait, err := r.report(ctx, s, addOn, &out.Status)
	if err != nil {
		return 0, err
	}
	now := r.options.Clock.Now()
	delays := []time.Duration{wait, refresh, s.faults.NextRetry(now)}
	if !out.Until.IsZero() {
		delays = append(delays, max(1, out.Until.Sub(now)))
	}
	if conflict {
		delays = append(delays, apply.ConflictRetry)
	}
	if out.Begins && wait == 0 {
		delays = append(delays, 1) // what starts is on record now
	}
	if len(out.Writes) > len(writes) {
		delays = append(delays, 1)
	}
	return when.Shortest(delays...), nil
}

// gather reads what a plan is made from. Refresh is when to read configurations again that are not watched; 0 without any.
func (r *reconciler) gather(ctx context.Context, s *addOnState,
	addOn *addonv1alpha1.ClusterManagementAddOn,
) (in plan.Input, refresh time.Duration, err error) {
	now := r.options.Clock.Now()
	in = plan.Input{
		AddOn: addOn, Now: now, Placements: map[types.NamespacedName]reading.Placement{}, Clusters: map[string]*clusterv1.ManagedCluster{},
		Faults:   s.faults.ByCluster(now),
		Removals: s.recentRemovals(now), Started: s.started,
	}
	for _, reference := range addOn.Spec.InstallStrategy.Placements {
		key := types.NamespacedName{Namespace: reference.Namespace, Name: reference.Name}
		if in.Placements[key], err = placed.Read(ctx, r.client, key); err != nil {
			return in, 0, err //nolint:wrapcheck // it names the placement
		}
		if placement := in.Placements[key]; r.options.Going != nil && placement.Object != nil {
			placement.Going = r.options.Going(key)
			in.Placements[key] = placement
		}
	}
	installed := &addonv1alpha1.ManagedClusterAddOnList{}
	if err := r.client.List(ctx, installed, client.MatchingFields{nameIndex: addOn.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return in, 0, fmt.Errorf("listing the ManagedClusterAddOns %s: %w", addOn.Name, err)
	}
	cached := make([]*addonv1alpha1.ManagedClusterAddOn, 0, len(installed.Items))
	for i := range installed.Items {
		cached = append(cached, &installed.Items[i])
	}
	in.Installed = s.installed.Overlay(cached, now)
	if in.Members, err = r.members(ctx, s, &in); err != nil {
		return in, 0, err
	}
	clusters := &clusterv1.ManagedClusterList{}
	if err := r.client.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return in, 0, fmt.Errorf("listing the clusters: %w", err)
	}
	for i := range clusters.Items {
		in.Clusters[clusters.Items[i].Name] = &clusters.Items[i]
	}
	in.Configs, refresh = r.configs.readAll(ctx, plan.Objects(addOn, in.Installed), now)
	return in, refresh, nil
}
