// Package health owns the loop over the health of clusters. It watches the leases that the agents of clusters renew,
// reports of a cluster that has been silent for too long that nobody knows how it is, and keeps the two taints about
// health in step with what is reported of each cluster.
//
// It refuses to judge a report, and to believe in the silence of many at once: then it suspects the hub, says so on the
// set `global`, and leaves everybody as he is until the clusters are heard again. The invariant: no cluster is given up
// for what this process, or the hub, did not hear while it was not listening.
package health

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/berth-project/berth/internal/apply"
	"github.com/berth-project/berth/internal/telemetry"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "health"

const (
	// workers is how many clusters are written side by side, when a region goes.
	workers = 8
	// firstConflict is when a cluster is tried again that somebody else wrote to in between.
	firstConflict = 50 * time.Millisecond
	lastConflict  = 30 * time.Second
)

// Options configures the controller.
type Options struct {
	// Limit is the percentage of clusters beyond which their silence is taken for a fault of the hub; 100: never.
	Limit int
	// Unjoined puts the taint of the unreachable also on clusters about which nobody ever said anything.
	Unjoined bool
	Clock    clock.PassiveClock
	Registry prometheus.Registerer
}

// Add adds the controller to a manager.
func Add(mgr manager.Manager, options Options) error {
	roster := newRoster(options.Limit, options.Unjoined)
	loop, err := controller.New(Name, mgr, controller.Options{
		MaxConcurrentReconciles: workers,
		Reconciler: &reconciler{
			client: mgr.GetClient(), roster: roster, clock: options.Clock,
			metrics: telemetry.NewHealth(options.Registry, roster.state), recorder: mgr.GetEventRecorder("health-controller"),
			overtaken: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstConflict, lastConflict),
		},
	})
	if err != nil {
		return fmt.Errorf("adding the health controller: %w", err)
	}
	if err := loop.Watch(&source{cache: mgr.GetCache(), clock: options.Clock, roster: roster}); err != nil {
		return fmt.Errorf("starting to follow the clusters: %w", err)
	}
	return nil
}

// reconciler looks after one cluster at a time, or reviews the suspicion of the hub.
type reconciler struct {
	client   client.Client
	roster   *roster
	clock    clock.PassiveClock
	metrics  *telemetry.Health
	recorder events.EventRecorder
	// suspended is what the log last said of the suspicion. The queue never gives the review to two workers.
	suspended bool
	// overtaken says when to try again where somebody else wrote in between. That may have been a change that wakes nobody.
	overtaken workqueue.TypedRateLimiter[reconcile.Request]
}

// Reconcile decides on a cluster, and stores what was decided.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	lookAgain, err := r.look(ctx, request.Name)
	if apply.Superseded(err) {
		log.FromContext(ctx).V(1).Info("somebody else wrote in between, deciding again", "cause", err.Error())
		return reconcile.Result{RequeueAfter: r.overtaken.When(request)}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	r.overtaken.Forget(request)
	if lookAgain.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: max(lookAgain.Sub(r.clock.Now()), time.Millisecond)}, nil
}

// look returns when to look again though nothing has changed; zero: never.
func (r *reconciler) look(ctx context.Context, name string) (time.Time, error) {
	if name == everybody {
		return time.Time{}, r.review(ctx)
	}
	s, there := r.roster.gather(name, r.clock.Now())
	if !there {
		return time.Time{}, nil
	}
	d := decide(s)
	made, err := r.createLease(ctx, s, d)
	if d.lease && !made {
		d.lookAgain = s.now.Add(s.grace) // for a namespace; nobody is told
	}
	return d.lookAgain, errors.Join(r.write(ctx, s, d), err)
}
