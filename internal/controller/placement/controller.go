// Package placement owns the loop that decides placements: gather, schedule, diff, apply. It refuses to know how any
// of the four is done. Workers run side by side; the work queue never gives one placement to two of them.
package placement

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/apply"
	"github.com/berth-project/berth/internal/source/live"
	"github.com/berth-project/berth/internal/telemetry"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "placement"

const (
	firstRetry = 10 * time.Millisecond
	lastRetry  = 30 * time.Second
	// afterConflict is when a placement is tried again that somebody else wrote to in between.
	afterConflict = 100 * time.Millisecond
)

// Options configures the controller.
type Options struct {
	// Workers is how many placements are decided side by side.
	Workers int
	Clock   clock.WithTicker
	Metrics *telemetry.Metrics
}

// Add adds the controller to a manager.
func Add(mgr manager.Manager, options Options) error {
	env, err := celenv.New()
	if err != nil {
		return err
	}
	source := newSource(mgr.GetCache(), env, options.Clock)
	loop, err := controller.New(Name, mgr, controller.Options{
		MaxConcurrentReconciles: options.Workers,
		Reconciler: &reconciler{
			client: mgr.GetClient(), world: source.world, clock: options.Clock,
			metrics: options.Metrics, recorder: mgr.GetEventRecorder("placement-controller"),
		},
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	})
	if err != nil {
		return fmt.Errorf("adding the placement controller: %w", err)
	}
	if err := loop.Watch(source); err != nil {
		return fmt.Errorf("starting to follow the fleet: %w", err)
	}
	return nil
}

// reconciler decides one placement at a time.
type reconciler struct {
	client   client.Client
	world    *live.World
	clock    clock.WithTicker
	metrics  *telemetry.Metrics
	recorder events.EventRecorder
}

// Reconcile decides a placement and stores what was decided.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := fleet.Key{Namespace: request.Namespace, Name: request.Name}
	started := r.clock.Now()
	c, ok := r.world.Gather(key, started)
	if !ok {
		return reconcile.Result{}, nil
	}
	result := decide(c, key)
	decided := r.clock.Now()
	writes := plan.Diff(result, c.Stored, started)
	err := apply.Apply(ctx, r.client, writes, r.world)
	if err == nil {
		r.keep(c, writes)
	}
	r.world.Settle(key, err != nil)
	r.metrics.Evaluated(decided.Sub(started), outcome(result, writes, err))
	switch {
	case err != nil && apply.Superseded(err):
		log.FromContext(ctx).V(1).Info("somebody else wrote in between, deciding again", "cause", err.Error())
		return reconcile.Result{RequeueAfter: afterConflict}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	if !writes.Empty() {
		r.tell(ctx, c, result, writes, r.clock.Since(decided))
	}
	return reconcile.Result{RequeueAfter: r.until(result.LookAgain)}, nil
}

func decide(c live.Case, key fleet.Key) *engine.Result {
	if c.Program == nil {
		return engine.Keep(c.Snapshot, key, c.Faults)
	}
	return engine.Schedule(c.Snapshot, c.Program)
}

// keep tells the world which slices are right as they are.
func (r *reconciler) keep(c live.Case, writes plan.Plan) {
	written := map[string]bool{}
	for _, write := range writes.Writes {
		if write.Slice != nil {
			written[write.Slice.Name] = true
		}
	}
	for _, slice := range c.Stored.Slices {
		if !written[slice.Name] {
			r.world.Kept(slice)
		}
	}
}

// tell reports a change that was stored: one log line, one event, and the metrics.
func (r *reconciler) tell(ctx context.Context, c live.Case, result *engine.Result, writes plan.Plan, took time.Duration) {
	before := c.Stored.Placement
	r.metrics.Applied(writes, took)
	r.metrics.Conditions(before, result)
	log.FromContext(ctx).Info("decided", "selected", result.Selected, "added", len(writes.Added),
		"removed", len(writes.Removed), "writes", len(writes.Writes), "reason", result.Satisfied.Reason)
	if event, ok := telemetry.Describe(before, result, writes); ok {
		r.recorder.Eventf(before, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
}

// until returns how long to wait for an instant; 0 means never.
func (r *reconciler) until(instant time.Time) time.Duration {
	if instant.IsZero() {
		return 0
	}
	return max(instant.Sub(r.clock.Now()), time.Millisecond)
}

func outcome(result *engine.Result, writes plan.Plan, err error) telemetry.Outcome {
	switch {
	case err != nil:
		return telemetry.Failed
	case !result.Decided:
		return telemetry.Kept
	case writes.Empty():
		return telemetry.Unchanged
	default:
		return telemetry.Changed
	}
}
