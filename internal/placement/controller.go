// Package placement runs the controller that decides placements. For each placement it gathers the input, decides, diffs the decision
// against the stored slices, applies the difference and records it: see Reconcile. Other packages implement the steps.
//
// Invariant: the work queue never hands one placement to two workers.
package placement

import (
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/placement/history"
	"github.com/berth-project/berth/internal/placement/live"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "placement"

const (
	minRetry = 10 * time.Millisecond
	maxRetry = 30 * time.Second
	// minConflictRetry is the delay after a first conflict: about the time until the informers show the other write.
	minConflictRetry = 50 * time.Millisecond
)

// Definitions reports whether the objects on the hub are what users want.
type Definitions interface {
	// Holds returns true while a definition is missing, and until what went with it is back. Then nothing is decided, and what is deleted
	// is not taken for a wish.
	Holds() bool
	// Missing returns the names of these definitions while Holds is true.
	Missing() []string
	// Changed receives a value whenever the result of Holds changes.
	Changed() <-chan struct{}
}

// Hub reports what the CustomResourceDefinitions on the hub lack.
type Hub interface {
	// DroppedFields returns the status fields that the API server drops. Ok is false while a field or a permission is missing that
	// every decision needs.
	DroppedFields() (dropped plan.Dropped, ok bool)
	// Changed receives a value whenever the result of Decides changes.
	Changed() <-chan struct{}
}

// Add adds the controller to a manager.
func Add(mgr manager.Manager, options Options) error {
	source := newSource(mgr.GetCache(), mgr.GetAPIReader(), options)
	source.brakes.reporter = &brakeReporter{
		brake: source.brakes.brake, client: mgr.GetClient(), recorder: mgr.GetEventRecorder("placement-controller"),
	}
	RegisterHolds(metrics.Registry, source.brakes.brake.Count, source.stored.CountGraces)
	decider := &reconciler{
		client: mgr.GetClient(), stored: source.stored, brakes: source.brakes, scores: source.scores, record: options.Record,
		hub: options.Hub, definitions: options.Definitions, clock: options.Clock, metrics: options.Metrics,
		recorder:  mgr.GetEventRecorder("placement-controller"),
		conflicts: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minConflictRetry, maxRetry),
	}
	loop, err := controller.New(Name, mgr, controller.Options{
		MaxConcurrentReconciles: options.Workers,
		Reconciler:              decider,
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workQueue {
			queue := newFairQueue(name, limiter, availableCores())
			decider.releaseCore = queue.Release
			return queue
		},
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minRetry, maxRetry),
	})
	if err != nil {
		return fmt.Errorf("adding the placement controller: %w", err)
	}
	if err := loop.Watch(source); err != nil {
		return fmt.Errorf("starting the watches of the placement controller: %w", err)
	}
	return nil
}

// reconciler reconciles placements.
type reconciler struct {
	client client.Client
	stored *live.Stored
	scores *scoreDebouncer
	// brakes is nil where no decision is judged.
	brakes *brakes
	record *history.Record
	hub    Hub
	// definitions is nil where none ever is missing.
	definitions Definitions
	clock       clock.WithTicker
	metrics     *Metrics
	recorder    events.EventRecorder
	orphans     orphanCounts
	// conflicts delays the next attempt after a conflict with another client.
	conflicts workqueue.TypedRateLimiter[reconcile.Request]
	// releaseCore frees the core of a request. The writes that follow need none.
	releaseCore func(reconcile.Request)
}
