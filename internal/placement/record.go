package placement

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/placement/history"
)

// recordAttempt records what an attempt did: in the history, the metrics, the log and an event.
func (r *reconciler) recordAttempt(ctx context.Context, a *attempt) {
	outcome := a.record.Finish(a.plan, a.err)
	evaluation := Evaluation{
		Key: a.key, Before: a.input.Stored.Placement, Result: a.result, Plan: a.plan, Written: a.applied.Writes, Failure: failure(a.err),
		Deciding: a.decided.Sub(a.started), Planning: a.planned.Sub(a.decided), Writing: a.written.Sub(a.planned),
		Latency: outcome.Latency, Cause: outcome.Cause(),
	}
	r.metrics.Record(evaluation)
	if a.err == nil && !a.plan.Empty() {
		a.log(ctx, outcome.Change, evaluation.Held())
		r.emit(a)
	}
}

// log writes the one line of a stored plan.
func (a *attempt) log(ctx context.Context, change *history.Change, held int) {
	fields := []any{
		"selected", a.result.Selected, "added", len(a.plan.Newcomers()), "removed", len(a.plan.Removed),
		"restored", len(a.plan.Restored), "regrouped", len(a.plan.Regrouped),
		"held", held, "writes", len(a.plan.Writes), "reason", a.result.Satisfied.Reason,
	}
	if change != nil {
		fields = append(fields, change.Fields()...)
	}
	log.FromContext(ctx).Info("decided", fields...)
}

// emit emits the event of a stored plan, if any. The event names a written slice. Its resourceVersion is new each time, so
// that the recorder does not merge two changes into one event.
func (r *reconciler) emit(a *attempt) {
	event, ok := decisionEvent(a.input.Stored.Placement, a.result, a.plan)
	if !ok {
		return
	}
	var related runtime.Object // nil if only the status was written
	for _, write := range a.plan.Writes {
		if write.Slice != nil {
			related = a.applied.Slices[write.Slice.Name]
			break
		}
	}
	r.recorder.Eventf(a.input.Stored.Placement, related, event.Type, event.Reason, event.Action, "%s", event.Note)
}

// failure returns the result of a write for an error, empty without an error.
func failure(err error) WriteResult {
	switch {
	case err == nil:
		return ""
	case apply.IsConflict(err):
		return WriteConflict
	default:
		return WriteFailed
	}
}
