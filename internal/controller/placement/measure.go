package placement

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/apply"
	"github.com/berth-project/berth/internal/record"
	"github.com/berth-project/berth/internal/source/live"
	"github.com/berth-project/berth/internal/telemetry"
)

// measure records what a result that is stored has changed, and how its placement stands now.
func (r *reconciler) measure(key fleet.Key, c live.Input, result *engine.Result, writes plan.Plan) {
	r.metrics.Stands(key, holding(c, result), conditions(c, writes))
	if !writes.Empty() {
		r.metrics.Applied(result, writes)
		r.metrics.Conditions(c.Stored.Placement, result)
	}
}

// answered records how long those waited who woke a placement, and what for.
func (r *reconciler) answered(turn *record.Attempt, change record.Change, moved bool) {
	if first, ok := turn.Since(); ok {
		r.metrics.Answered(r.clock.Since(first))
	}
	if moved {
		r.metrics.Moved(change.Causes[0].Kind)
	}
}

// holding returns how many clusters a placement holds once a result is stored. One that decides nothing leaves the account
// as it is.
func holding(c live.Input, result *engine.Result) int {
	if result.Decided {
		return len(result.Ledger.Held)
	}
	return len(plan.ReadLedger(c.Stored.Placement).Held)
}

// conditions returns the conditions of a placement once a plan is carried out.
func conditions(c live.Input, writes plan.Plan) []metav1.Condition {
	if last := len(writes.Writes) - 1; last >= 0 && writes.Writes[last].Verb == plan.UpdateStatus {
		return writes.Writes[last].Placement.Status.Conditions
	}
	return c.Stored.Placement.Status.Conditions
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

// refusal says what an error means for the write that it is of.
func refusal(err error) telemetry.WriteResult {
	if apply.IsConflict(err) {
		return telemetry.WriteConflict
	}
	return telemetry.WriteFailed
}
