package report

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/decision"
	deliveryplan "github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/rollout"
)

// builder words the verdicts of one plan.
type builder struct {
	in    deliveryplan.Input
	works map[key]*workv1.ManifestWork
	steps map[string]rollout.Step
}

type key struct{ cluster, name string }

func newBuilder(in deliveryplan.Input, plan deliveryplan.Result) *builder {
	b := &builder{in: in, works: map[key]*workv1.ManifestWork{}, steps: map[string]rollout.Step{}}
	for _, work := range in.Works {
		b.works[key{work.Namespace, work.Name}] = work
	}
	for _, step := range plan.Rollouts {
		b.steps[step.Placement] = step.Step
	}
	return b
}

// cluster returns the row of a verdict.
func (b *builder) cluster(v deliveryplan.Verdict) Cluster {
	work := b.works[key{v.Cluster, v.Work}]
	out := Cluster{
		Cluster: v.Cluster, Placement: v.Placement, State: v.State, Code: v.Code, Work: v.Work, Message: v.Message,
		Since: timeOrNil(v.Since), Until: timeOrNil(v.Until),
	}
	if work != nil {
		out.Unknown = b.in.Unknown[v.Cluster]
	}
	if v.Placement != "" && v.Group.Index != decision.NoIndex {
		out.Group = v.Group.String()
	}
	if work != nil && v.State != rollout.StateToApply {
		out.Started = timeOrNil(deliveryplan.StartedAt(work))
	}
	if v.Code != rollout.Left && (v.State == rollout.StateFailed || v.State == rollout.StateProgressing) {
		out.Failure = failureOf(work)
	}
	fault, refused := b.in.Faults[v.Cluster]
	if refused && fault.Hash == b.in.Hash && v.State != rollout.StateSucceeded {
		out.Next, out.Retry = "the manager sends the work again", timeOrNil(fault.Retry)
		return out
	}
	out.Next = b.next(v, work)
	return out
}

// failureOf returns the first failure of a work; nil without one.
func failureOf(work *workv1.ManifestWork) *Failure {
	if work == nil {
		return nil
	}
	if found, ok := deliveryplan.FailureOf(work); ok {
		return &Failure{
			Manifest: found.Manifest, Condition: found.Condition, Message: found.Message, Permanent: found.Permanent,
			Since: timeOrNil(found.Since.Time),
		}
	}
	condition := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkDegraded)
	if condition == nil || condition.Status != metav1.ConditionTrue || condition.ObservedGeneration != work.Generation {
		return nil
	}
	return &Failure{Condition: workv1.WorkDegraded, Message: condition.Message, Since: timeOrNil(condition.LastTransitionTime.Time)}
}

// next returns what happens next in a cluster; empty where nothing does.
func (b *builder) next(v deliveryplan.Verdict, work *workv1.ManifestWork) string {
	step := b.steps[v.Placement]
	switch v.Code {
	case rollout.Starting:
		return "the manager writes the work"
	case rollout.UnderWay:
		return underWay(work)
	case rollout.Soaking:
		return "counts as done once minSuccessTime has passed"
	case rollout.Failing, rollout.TimedOut:
		return retried(work)
	case rollout.WaitsForPlace:
		return "starts when a cluster under way is done"
	case rollout.WaitsForGroup:
		return fmt.Sprintf("starts when group %s is done", step.Group)
	case rollout.WaitsForProof, rollout.WaitsForApproval, rollout.WaitsForResume, rollout.WaitsForRepair, rollout.WaitsForStrategy:
		return remedy(b.in.Set, v.Placement, step, v.Code, v.Group)
	case rollout.WaitsForDecision:
		return "the work stays until a placement has decided"
	case rollout.Left:
		return leaving(work)
	default:
		return ""
	}
}

// underWay returns what a cluster that was given the change does next.
func underWay(work *workv1.ManifestWork) string {
	if work == nil {
		return "the manager writes the work"
	}
	applied := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	switch {
	case !work.DeletionTimestamp.IsZero():
		return "the agent removes the work, then the manager creates it again"
	case applied == nil || applied.ObservedGeneration != work.Generation:
		return fmt.Sprintf("the agent applies generation %d of the work, and reports it", work.Generation)
	case applied.Status == metav1.ConditionFalse:
		return "the agent tries again, within 5 minutes"
	default:
		return "succeeds once its objects are healthy"
	}
}

// retried returns what is tried in a cluster that failed.
func retried(work *workv1.ManifestWork) string {
	if work == nil {
		return "the manager sends the work again"
	}
	failure, found := deliveryplan.FailureOf(work)
	switch {
	case found && failure.Permanent:
		return "the agent tries again within 5 minutes, and at once when the template changes; correct the template, or what the message names"
	case found && failure.Condition == workv1.WorkApplied:
		return "the agent tries again, within 5 minutes"
	default:
		return "recovers once its objects are healthy"
	}
}

// leaving returns what happens to the work of a cluster that is not selected any more.
func leaving(work *workv1.ManifestWork) string {
	if work == nil || work.DeletionTimestamp.IsZero() {
		return "the manager deletes the work"
	}
	if deleting := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkDeleting); deleting != nil {
		return cmp.Or(deleting.Message, "the agent removes the objects")
	}
	return "the agent removes the objects, then the work"
}
