// Package placement owns the loop that decides placements: gather, schedule, diff, apply. It refuses to know how any
// of the four is done. Workers run side by side; the work queue never gives one placement to two of them.
package placement

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/apply"
	"github.com/berth-project/berth/internal/record"
	"github.com/berth-project/berth/internal/source/live"
	"github.com/berth-project/berth/internal/telemetry"
)

// Name is the controller's name, for --controllers, logs and metrics.
const Name = "placement"

const (
	minRetry = 10 * time.Millisecond
	maxRetry = 30 * time.Second
	// minConflictRetry is when a placement is tried again that somebody else wrote to in between: about when the
	// informers show it.
	minConflictRetry = 50 * time.Millisecond
)

// Options configures the controller.
type Options struct {
	// Workers is how many placements are decided side by side.
	Workers int
	Clock   clock.WithTickerAndDelayedExecution
	Metrics *telemetry.Metrics
	// Record remembers what is decided, for whoever asks why.
	Record *record.Record
	// Env is what expressions are compiled in.
	Env *celenv.Env
	// BuiltIn says that the sets `default` and `global` are restored, so that no decision need change while one is not there.
	BuiltIn bool
	// Tainted is closed once the informer of clusters has shown that those that are not to be selected are tainted. Nothing is
	// decided before, for a while. Nil: nothing is waited for.
	Tainted <-chan struct{}
	// Hub says what the hub lacks; nil means nothing.
	Hub Hub
}

// Hub says what a hub lacks of what the controller needs.
type Hub interface {
	// DroppedFields says whether the hub has what decisions need, and which fields of statuses it drops.
	DroppedFields() (dropped plan.Dropped, ok bool)
	// Changed is sent to when Decides returns something else than before.
	Changed() <-chan struct{}
}

// Add adds the controller to a manager.
func Add(mgr manager.Manager, options Options) error {
	source := newSource(mgr.GetCache(), options)
	decider := &reconciler{
		client: mgr.GetClient(), world: source.world, scores: source.scores, record: options.Record,
		hub: options.Hub, clock: options.Clock, metrics: options.Metrics, recorder: mgr.GetEventRecorder("placement-controller"),
		conflicts: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minConflictRetry, maxRetry),
	}
	loop, err := controller.New(Name, mgr, controller.Options{
		MaxConcurrentReconciles: options.Workers,
		Reconciler:              decider,
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workQueue {
			queue := newFairQueue(name, limiter, newCoreLimiter(availableCores()))
			decider.releaseCore = queue.Release
			return queue
		},
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minRetry, maxRetry),
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
	world    *live.State
	scores   *scoreDebouncer
	record   *record.Record
	hub      Hub
	clock    clock.WithTicker
	metrics  *telemetry.Metrics
	recorder events.EventRecorder
	orphans  orphanCounts
	// conflicts says when to try again where somebody else wrote in between.
	conflicts workqueue.TypedRateLimiter[reconcile.Request]
	// releaseCore gives back the core of a request once it is decided and has only to be stored.
	releaseCore func(reconcile.Request)
}

// Reconcile decides a placement and stores what was decided.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := keyOfRequest(request)
	dropped, decides := r.droppedFields()
	if !decides {
		r.releaseCore(request)
		return reconcile.Result{RequeueAfter: hubRetry}, nil
	}
	r.scores.remove(key) // before the case is gathered, as the turn begins: nothing may count as answered that was not seen
	turn := r.record.Begin(key)
	c, ok := r.world.Gather(key, r.clock.Now())
	if !ok {
		r.record.Forget(key)
		r.metrics.Left(key)
		r.releaseCore(request)
		return r.result(ctx, request, time.Time{}, r.revoke(ctx, key))
	}
	again, err := r.decide(ctx, request, withDroppedFields(c, dropped), turn)
	return r.result(ctx, request, again, err)
}

// keyOfRequest returns the placement that a request is about.
func keyOfRequest(request reconcile.Request) fleet.Key {
	return fleet.Key{Namespace: request.Namespace, Name: request.Name}
}

// result says when a placement is to be reconciled again.
func (r *reconciler) result(ctx context.Context, request reconcile.Request, again time.Time, err error) (reconcile.Result, error) {
	switch {
	case err == nil:
		r.conflicts.Forget(request)
		return reconcile.Result{RequeueAfter: r.requeueAfter(again)}, nil
	case apply.IsConflict(err):
		log.FromContext(ctx).V(1).Info("somebody else wrote in between, deciding again", "cause", err.Error())
		return reconcile.Result{RequeueAfter: r.conflicts.When(request)}, nil
	default:
		return reconcile.Result{}, err
	}
}

// decide decides a case, stores what was decided, and reports it. It returns when to decide again though nothing changes.
func (r *reconciler) decide(ctx context.Context, request reconcile.Request, c live.Input, turn *record.Attempt) (again time.Time, err error) {
	key, stored := keyOfRequest(request), false
	defer func() { r.world.Finish(key, !stored) }() // deferred, so that a panic does not leave the placement busy
	started := c.Snapshot.Now
	result := answer(c, key)
	turn.Decided(c, result)
	decided := r.clock.Now()
	writes := plan.Diff(result, c.Stored, started)
	r.releaseCore(request)
	planned := r.clock.Now()
	written, err := apply.Apply(ctx, r.client, writes, r.world)
	r.metrics.Wrote(writes, written.Writes, refusal(err))
	r.metrics.Evaluated(telemetry.Evaluation{
		Outcome:  outcome(result, writes, err),
		Deciding: decided.Sub(started), Planning: planned.Sub(decided), Writing: r.clock.Since(planned),
	}, writes)
	if err != nil {
		turn.Failed()
		return time.Time{}, err
	}
	r.world.AfterApply(c.Stored, writes)
	stored = true
	r.measure(key, c, result, writes)
	change, moved := turn.Stored(writes)
	if !writes.Empty() {
		r.answered(turn, change, moved)
		fields := []any{
			"selected", result.Selected, "added", len(writes.Newcomers()), "removed", len(writes.Removed),
			"restored", len(writes.Restored), "regrouped", len(writes.Regrouped),
			"held", holding(c, result), "writes", len(writes.Writes), "reason", result.Satisfied.Reason,
		}
		if moved {
			fields = append(fields, change.Fields()...)
		}
		log.FromContext(ctx).Info("decided", fields...)
		r.tell(c.Stored.Placement, result, writes, written.Slices)
	}
	return earlier(result.RecheckAt, writes.RecheckAt), nil
}

// earlier returns the earlier of two instants, zero being none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func answer(c live.Input, key fleet.Key) *engine.Result {
	return engine.Decide(c.Snapshot, key, c.Program, c.Faults, plan.ReadLedger(c.Stored.Placement))
}

// tell emits the one event that an applied plan is worth. The event names a slice that was written: its
// resourceVersion is new each time, so that the recorder does not take a second change for a repetition of the first.
func (r *reconciler) tell(
	before *clusterv1beta1.Placement, result *engine.Result, writes plan.Plan, written map[string]*clusterv1beta1.PlacementDecision,
) {
	event, ok := telemetry.DecisionEvent(before, result, writes)
	if !ok {
		return
	}
	var related runtime.Object // nil where only the status was written
	for _, write := range writes.Writes {
		if write.Slice != nil {
			related = written[write.Slice.Name]
			break
		}
	}
	r.recorder.Eventf(before, related, event.Type, event.Reason, event.Action, "%s", event.Note)
}

// requeueAfter returns how long to wait for an instant; 0 means never.
func (r *reconciler) requeueAfter(instant time.Time) time.Duration {
	if instant.IsZero() {
		return 0
	}
	return max(instant.Sub(r.clock.Now()), time.Millisecond)
}
