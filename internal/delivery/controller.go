// Package delivery runs the controller that keeps the ManifestWorks of every ManifestWorkReplicaSet.
//
// It decides nothing: package plan plans, and this package reads, writes and reports. It keeps three things in memory: its own
// writes until the cache shows them, the refusals of the API server, and the hash of each template. All of them may be lost: a restart
// on a settled hub writes nothing. The invariant: the finalizer of a set goes only after a complete list from the API server.
package delivery

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/when"
	"github.com/berth-project/berth/internal/source/placed"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "replicaset"

const (
	// workers is how many sets are planned concurrently.
	workers = 4
	// maxConcurrent bounds the concurrent writes of all sets.
	maxConcurrent = 32
	// maxWrites bounds the writes of one pass. The set then waits behind the others, so that a large set delays no small one for long.
	maxWrites = 4 * maxConcurrent
	// batchDelay is how long the changes of works are collected before the next pass of their set.
	batchDelay = 100 * time.Millisecond
	// deletionRetry is between two lists of a deleted set's works.
	// blockedRetry is between attempts while another controller keeps the sets of the hub. keepRetry is between attempts to store a template.
	deletionRetry, blockedRetry, keepRetry = 10 * time.Second, 30 * time.Second, 30 * time.Second
)

// Add adds the controller to a manager.
func Add(ctx context.Context, mgr manager.Manager, options Options) error {
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), options: options,
		pool: make(apply.Pool, maxConcurrent), pace: newPace(options.FanoutBytes), sets: map[client.ObjectKey]*setState{},
		away: map[client.ObjectKey]time.Time{},
	}
	r.recorder, r.metrics = mgr.GetEventRecorder("replicaset-controller"), NewMetrics(options.Registry, r.deliveryState)
	if err := r.watch(ctx, mgr); err != nil {
		return fmt.Errorf("adding the replicaset controller: %w", err)
	}
	if options.Reader != nil {
		options.Reader.use(r)
	}
	return nil
}

// reconciler reconciles sets.
type reconciler struct {
	client client.Client
	// live reads from the API server, past the cache of the client.
	live    client.Reader
	options Options
	// works has the works in the cache of the client.
	works toolscache.Indexer
	// pool has a place for each concurrent write of works.
	pool apply.Pool
	pace *pace

	recorder events.EventRecorder
	metrics  *Metrics

	mu   sync.Mutex // guards sets and away
	sets map[client.ObjectKey]*setState
	// away has when this process first saw that the set of a RolloutControl is away.
	away map[client.ObjectKey]time.Time
}

// state returns the state of a set.
func (r *reconciler) state(key client.ObjectKey) *setState {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sets[key]
	if s == nil {
		s = newSetState()
		r.sets[key] = s
	}
	return s
}

// known returns the state of a set; nil for a set that was not reconciled.
func (r *reconciler) known(key client.ObjectKey) *setState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sets[key]
}

func (r *reconciler) remove(key client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sets, key)
}

// Reconcile makes one pass over a set.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if r.options.Blocked() {
		return reconcile.Result{RequeueAfter: blockedRetry}, nil
	}
	cached := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := r.client.Get(ctx, request.NamespacedName, cached); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.remove(request.NamespacedName)
			after, err := r.orphan(ctx, request.NamespacedName)
			return reconcile.Result{RequeueAfter: after}, err
		}
		return reconcile.Result{}, fmt.Errorf("reading ManifestWorkReplicaSet %s: %w", request, err)
	}
	r.returned(request.NamespacedName)
	s := r.state(request.NamespacedName)
	set := s.latest(cached)
	var after time.Duration
	var err error
	switch {
	case !set.DeletionTimestamp.IsZero():
		after, err = r.tearDown(ctx, s, set)
	case !controllerutil.ContainsFinalizer(set, workv1alpha1.ManifestWorkReplicaSetFinalizer):
		after, err = 1, r.addFinalizer(ctx, s, set)
	default:
		after, err = r.pass(ctx, s, set)
	}
	return apply.Result(ctx, after, err)
}

// pass plans a set, sends the writes and reports the status. After is when to plan again; 0 for a change only.
func (r *reconciler) pass(ctx context.Context, s *setState, set *workv1alpha1.ManifestWorkReplicaSet) (after time.Duration, err error) {
	in, specs, err := r.gather(ctx, s, set)
	if err != nil {
		return 0, err
	}
	in.Unkept = r.keepTemplates(ctx, s, set, in.Hash, specs.revisions)
	out := plan.Plan(in)
	if wait := r.untilReport(s, in.Now); out.Departs && wait > 0 {
		return wait, nil // what leaves is counted in the status that is stored with it
	}
	writes, held := r.pace.admit(specs, out.Writes, in.Now)
	s.observe(out, held.clusters)
	conflict := r.send(ctx, s, set.UID, specs, writes)
	wait, err := r.report(ctx, s, set, plan.HoldBack(out.Status, held.clusters, r.options.FanoutBytes, metav1.NewTime(in.Now)))
	if err != nil {
		return 0, err
	}
	if wait == 0 {
		r.announce(ctx, s, set, in.Control)
	}
	now := r.options.Clock.Now()
	delays := []time.Duration{wait, s.faults.NextRetry(now), held.wait}
	if !out.Until.IsZero() {
		delays = append(delays, max(1, out.Until.Sub(now)))
	}
	if meta.IsStatusConditionTrue(out.Status.Conditions, workv1alpha1.FormerTemplateUnkept) {
		delays = append(delays, keepRetry)
	}
	if out.Status.CurrentRevision != set.Status.CurrentRevision {
		delays = append(delays, 1) // what finished is to be marked, and the template before it is kept no longer
	}
	if conflict {
		delays = append(delays, apply.ConflictRetry)
	}
	if wait == 0 && out.Begins {
		delays = append(delays, 1) // what starts is on record now
	}
	if len(out.Writes) > len(writes)+held.clusters {
		delays = append(delays, 1)
	}
	return when.Shortest(delays...), nil
}

// gather reads what a plan is made from, and what its writes store. It writes nothing.
func (r *reconciler) gather(ctx context.Context, s *setState, set *workv1alpha1.ManifestWorkReplicaSet) (plan.Input, *specs, error) {
	out := plan.Input{Set: set, Now: r.options.Clock.Now(), Placements: map[string]plan.Placement{}}
	var err error
	if out.Hash, err = s.templateHash(set); err != nil {
		return out, nil, err
	}
	for _, reference := range set.Spec.PlacementRefs {
		placement, err := placed.Read(ctx, r.client, client.ObjectKey{Namespace: set.Namespace, Name: reference.Name})
		if err != nil {
			return out, nil, err //nolint:wrapcheck // it names the placement
		}
		if placement.Object != nil {
			if r.options.Going != nil {
				placement.Going = r.options.Going(client.ObjectKeyFromObject(placement.Object))
			}
			out.Placements[reference.Name] = placement
		}
	}
	if out.Control, err = r.control(ctx, set); err != nil {
		return out, nil, err
	}
	specs, err := r.readTemplates(ctx, set, out.Hash)
	if err != nil {
		return out, nil, err
	}
	out.FinishedBefore = slices.ContainsFunc(specs.revisions, func(kept plan.Revision) bool {
		return plan.RevisionHash(set, kept) == out.Hash && plan.RolloutFinished(set, kept)
	})
	out.Kept = map[string]bool{}
	for hash := range specs.stored {
		out.Kept[hash] = true
	}
	if former := specs.stored[set.Status.CurrentRevision]; former != nil {
		out.Obstacle = plan.ReturnObstacle(&set.Spec.ManifestWorkTemplate, former)
	}
	if out.Undeliverable, err = r.undeliverable(ctx, s, &out); err != nil {
		return out, nil, err
	}
	if err := r.render(ctx, s, set, specs, &out); err != nil {
		return out, nil, err
	}
	cached, err := r.worksOf(plan.SetLabelValue(set.Namespace, set.Name))
	if err != nil {
		return out, nil, err
	}
	out.Works, out.Faults = s.works.Overlay(cached, out.Now), s.faults.ByCluster(out.Now)
	if out.Members, err = r.members(ctx, s, &out); err != nil {
		return out, nil, err
	}
	return out, specs, nil
}

// addFinalizer adds the finalizer, before the first work is created.
func (r *reconciler) addFinalizer(ctx context.Context, s *setState, set *workv1alpha1.ManifestWorkReplicaSet) error {
	after := set.DeepCopy()
	controllerutil.AddFinalizer(after, workv1alpha1.ManifestWorkReplicaSetFinalizer)
	return r.patchMetadata(ctx, s, set, after)
}

// patchMetadata stores the finalizers of a set.
func (r *reconciler) patchMetadata(ctx context.Context, s *setState, before, after *workv1alpha1.ManifestWorkReplicaSet) error {
	patch := apply.Fenced(before)
	if err := r.client.Patch(ctx, after, patch); err != nil {
		return fmt.Errorf("changing the finalizer of ManifestWorkReplicaSet %s/%s: %w", before.Namespace, before.Name, err)
	}
	s.sets.Set(after, r.options.Clock.Now())
	return nil
}
