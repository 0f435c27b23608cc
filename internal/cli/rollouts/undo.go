package rollouts

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/report"
)

// ReturnTo finds the revision that Undo returns to, for a return at once. Its rollout must have finished before.
func ReturnTo(set *workv1alpha1.ManifestWorkReplicaSet, history []Revision, number int64) (Revision, error) {
	target, _, err := former(set, history, number)
	if err == nil && !target.Finished {
		err = errUnfinished
	}
	if err != nil {
		return Revision{}, fmt.Errorf("returning the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	return target, nil
}

// ReturnNow lets clusters return to a template at once.
func ReturnNow(hash, reason string, now time.Time) ControlChange {
	return func(spec *rolloutv1alpha1.RolloutControlSpec, by string) bool {
		spec.ReturnNow = &rolloutv1alpha1.TemplateDecision{Revision: hash, By: by, Reason: reason, Time: metav1.NewMicroTime(now)}
		return true
	}
}

// Holds returns what holds the rollout of the present template of a set, and what ends that; nothing for a rollout that moves. Without the
// works it does not see a breach.
func Holds(d Delivery, now time.Time) ([]string, error) {
	in, err := d.input(now)
	if err != nil {
		return nil, err
	}
	var out []string
	hold := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	in.Set = in.Set.DeepCopy()
	resume := fmt.Sprintf("`kubectl berth rollout resume %s -n %s`", in.Set.Name, in.Set.Namespace)
	atOnce := plan.ReturnsNow(in)
	if in.Control != nil && in.Control.Spec.Paused {
		in.Control = in.Control.DeepCopy()
		in.Control.Spec.Paused = false
		if !atOnce {
			hold("paused%s: starts after %s", byAndWhy(in.Control.Spec.PausedBy, in.Control.Spec.PauseReason), resume)
		}
	}
	for i := range in.Set.Spec.PlacementRefs {
		if ref := &in.Set.Spec.PlacementRefs[i]; ref.RolloutStrategy.Paused {
			ref.RolloutStrategy.Paused = false
			if !atOnce {
				hold("%s: paused in the set: starts after %s", ref.Name, resume)
			}
		}
	}
	for _, step := range plan.Plan(in).Rollouts {
		if next := report.Remedy(in.Set, step); next != "" {
			hold("%s: %s: %s", step.Placement, step.Message, next)
		}
	}
	return out, nil
}

// byAndWhy names who decided, and why.
func byAndWhy(by, why string) string {
	out := ""
	if by != "" {
		out = " by " + by
	}
	if why != "" {
		out += " (" + why + ")"
	}
	return out
}
