package placement

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/when"
	"github.com/berth-project/berth/internal/placement/history"
	"github.com/berth-project/berth/internal/placement/live"
)

// attempt is one pass of a placement through the sequence. Each step adds its result.
type attempt struct {
	key    fleet.Key
	record *history.Attempt

	input   live.Input
	started time.Time

	result  *engine.Result
	decided time.Time

	plan    plan.Plan
	planned time.Time

	applied apply.Applied
	written time.Time
	err     error
}

// Reconcile runs the sequence for one placement: gather, decide, diff, apply, record. It revokes clusters instead if Berth does
// not decide the placement.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	dropped, complete := r.droppedFields()
	if !complete || r.definitions != nil && r.definitions.Holds() {
		r.releaseCore(request)
		return reconcile.Result{RequeueAfter: hubRetry}, r.reportMissing(ctx, keyOfRequest(request))
	}
	a, ok := r.gather(keyOfRequest(request), dropped)
	if !ok {
		r.releaseCore(request)
		return r.result(ctx, request, time.Time{}, r.revoke(ctx, a.key))
	}
	defer func() { r.stored.Finish(a.key, !a.stored()) }() // deferred, so that a panic does not block the placement
	r.decide(a)
	r.diff(a)
	r.releaseCore(request)
	r.apply(ctx, a)
	r.recordAttempt(ctx, a)
	return r.result(ctx, request, a.lookAgain(), a.err)
}

// gather reads what the decision needs. Ok is false if Berth does not decide the placement. It removes the pending scores
// first: a score that changes later enqueues the placement again.
func (r *reconciler) gather(key fleet.Key, dropped plan.Dropped) (a *attempt, ok bool) {
	r.scores.remove(key)
	a = &attempt{key: key, record: r.record.Begin(key)}
	if a.input, ok = r.stored.Gather(key, r.clock.Now()); !ok {
		r.record.Remove(key)
		r.brakes.remove(key)
		r.metrics.Remove(key)
		return a, false
	}
	a.input = withDroppedFields(a.input, dropped)
	a.started = a.input.Snapshot.Now
	return a, true
}

// decide runs the engine. The result can be explained from then on.
func (r *reconciler) decide(a *attempt) {
	var braked map[string]string
	a.result, braked = r.brakes.decide(a.key, a.input)
	r.stored.Decided(a.key, a.result, braked, a.started)
	a.record.Decided(a.input, a.result)
	a.decided = r.clock.Now()
}

// diff plans the writes.
func (r *reconciler) diff(a *attempt) {
	a.plan = plan.Diff(a.result, a.input.Stored, a.started)
	a.planned = r.clock.Now()
}

// apply sends the writes, up to the first that fails.
func (r *reconciler) apply(ctx context.Context, a *attempt) {
	a.applied, a.err = apply.Apply(ctx, r.client, a.plan, r.stored)
	a.written = r.clock.Now()
	if a.stored() {
		r.stored.AfterApply(a.input.Stored, a.plan)
	}
}

// stored reports whether every write of the plan is stored.
func (a *attempt) stored() bool { return !a.written.IsZero() && a.err == nil }

// lookAgain returns when to decide the placement again though nothing changes; zero: never.
func (a *attempt) lookAgain() time.Time { return when.Earliest(a.result.RecheckAt, a.plan.RecheckAt) }

// result returns when to reconcile a placement again. A conflict is no error: the next attempt reads what the other client wrote.
func (r *reconciler) result(ctx context.Context, request reconcile.Request, again time.Time, err error) (reconcile.Result, error) {
	switch {
	case err == nil:
		r.conflicts.Forget(request)
		return reconcile.Result{RequeueAfter: r.requeueAfter(again)}, nil
	case apply.IsConflict(err):
		log.FromContext(ctx).V(1).Info("conflict with another client, deciding again", "cause", err.Error())
		return reconcile.Result{RequeueAfter: r.conflicts.When(request)}, nil
	default:
		return reconcile.Result{}, err
	}
}

// droppedFields returns the status fields that the API server drops. Ok is false while a field is missing that every decision needs.
func (r *reconciler) droppedFields() (dropped plan.Dropped, ok bool) {
	if r.hub == nil {
		return plan.Dropped{}, true
	}
	return r.hub.DroppedFields()
}

// keyOfRequest returns the key of the placement of a request.
func keyOfRequest(request reconcile.Request) fleet.Key {
	return fleet.Key{Namespace: request.Namespace, Name: request.Name}
}

// requeueAfter returns how long to wait for an instant; 0 means never.
func (r *reconciler) requeueAfter(instant time.Time) time.Duration {
	if instant.IsZero() {
		return 0
	}
	return max(instant.Sub(r.clock.Now()), time.Millisecond)
}
