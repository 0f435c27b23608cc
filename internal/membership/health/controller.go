// Package health runs the controller that reports a cluster as Unknown after its agent has stopped renewing its lease. The controller
// also keeps the health taints in step with the reported health.
//
// Silence is measured from the time at which this process observed a renewal, never from the time in the lease. If many clusters are
// silent at once, the hub itself is probably at fault. The controller then suspends reporting and sets a condition on the set `global`.
// Every cluster stays as it is until enough leases are renewed again.
//
// Invariant: no cluster is reported Unknown for a renewal that this process, or the hub, could not receive.
package health

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/when"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "health"

const (
	// workers is how many clusters are written concurrently, such as when a region fails.
	workers = 8
	// minConflictRetry is the delay after a first conflict with another client.
	minConflictRetry = 50 * time.Millisecond
	maxConflictRetry = 30 * time.Second
	// confirmRetry is the delay if the lease was renewed or deleted right before the cluster would be reported Unknown.
	confirmRetry = time.Second
)

// Add adds the controller to a manager.
func Add(mgr manager.Manager, options Options) error {
	health := newHealthCache(options.UnreachableLimit, options.Simulate)
	loop, err := controller.New(Name, mgr, controller.Options{
		MaxConcurrentReconciles: workers,
		Reconciler: &reconciler{
			client: mgr.GetClient(), live: mgr.GetAPIReader(), cache: health, unjoined: options.unjoined(), tainted: options.Tainted,
			clock:   options.Clock,
			metrics: NewMetrics(options.Registry, health.state), recorder: mgr.GetEventRecorder("health-controller"),
			conflicts: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minConflictRetry, maxConflictRetry),
		},
	})
	if err != nil {
		return fmt.Errorf("adding the health controller: %w", err)
	}
	if err := loop.Watch(&source{informers: mgr.GetCache(), leases: options.Leases, clock: options.Clock, health: health}); err != nil {
		return fmt.Errorf("starting the watches of the health controller: %w", err)
	}
	return nil
}

// reconciler reconciles clusters, and reviews the fleet.
type reconciler struct {
	client client.Client
	// live reads from the API server, past the cache of the client.
	live     client.Reader
	cache    *healthCache
	unjoined Unjoined
	// tainted is closed at the end of the first pass, and nil from then on. Only the fleet review uses it.
	tainted  chan<- struct{}
	clock    clock.PassiveClock
	metrics  *Metrics
	recorder events.EventRecorder
	// suspended and clockSuspected are the states that were logged last. Only the fleet review uses them.
	suspended      bool
	clockSuspected int
	// conflicts delays the next attempt after a conflict. The event of the other write may not enqueue the cluster.
	conflicts workqueue.TypedRateLimiter[reconcile.Request]
}

// Reconcile decides on a cluster and stores the decision.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	lookAgain, err := r.decideAndWrite(ctx, request.Name)
	if apply.IsConflict(err) {
		log.FromContext(ctx).V(1).Info("conflict with another client, deciding again", "cause", err.Error())
		return reconcile.Result{RequeueAfter: r.conflicts.When(request)}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	r.conflicts.Forget(request)
	if lookAgain.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: max(lookAgain.Sub(r.clock.Now()), time.Millisecond)}, nil
}

// decideAndWrite returns when to reconcile again without a change; zero: never.
func (r *reconciler) decideAndWrite(ctx context.Context, name string) (time.Time, error) {
	if name == fleetRequest {
		return time.Time{}, r.reviewFleet(ctx)
	}
	s, there := r.cache.input(name, r.clock.Now())
	if !there {
		return time.Time{}, nil
	}
	d := decide(s)
	if d.reportUnknown && s.leased {
		if silent, err := r.confirmSilence(ctx, s); err != nil || !silent {
			return s.now.Add(confirmRetry), err
		}
	}
	created, err := r.createLease(ctx, s, d)
	if d.createLease && !created {
		d.lookAgain = when.Earliest(d.lookAgain, s.now.Add(s.grace)) // the namespace may be created, and namespaces are not watched
	}
	return d.lookAgain, errors.Join(r.write(ctx, s, d), err)
}

// confirmSilence reports whether the API server has the lease that the cache has. The watch may lag: a process that was stopped for a
// while would report clusters Unknown before it reads the renewals of that time.
func (r *reconciler) confirmSilence(ctx context.Context, s decisionInput) (bool, error) {
	lease := &coordinationv1.Lease{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: s.cluster.Name, Name: clusterv1.ManagedClusterLeaseName}, lease)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil // the watch shows it soon
	case err != nil:
		return false, fmt.Errorf("reading the lease of ManagedCluster %s: %w", s.cluster.Name, err)
	}
	stored := renewTime(lease)
	if stored.Equal(s.renewTime) {
		return true, nil
	}
	r.cache.setLease(s.cluster.Name, stored, r.clock.Now())
	return false, nil
}
