package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/rollout"
)

// StateOf returns how far the template with this hash has come on the cluster of a work, and since when. A nil work is StateToApply.
// Since is zero for StateToApply, and never after now: an agent whose clock is ahead skips no soak time.
func StateOf(work *workv1.ManifestWork, hash string, now time.Time) (state rollout.State, since time.Time) {
	if work == nil || !work.DeletionTimestamp.IsZero() || !IsCurrent(work, hash) {
		return rollout.StateToApply, time.Time{}
	}
	state, conditions := reportedState(work)
	since = StartedAt(work)
	if since.IsZero() {
		since = work.CreationTimestamp.Time
	}
	for _, condition := range conditions {
		if condition != nil && condition.LastTransitionTime.After(since) {
			since = condition.LastTransitionTime.Time
		}
	}
	if since.After(now) {
		since = now
	}
	return state, since
}

// reportedState returns the state that the agent reports of a current work, and the conditions whose last change may have begun it.
func reportedState(work *workv1.ManifestWork) (rollout.State, []*metav1.Condition) {
	applied, available := observed(work, workv1.WorkApplied), observed(work, workv1.WorkAvailable)
	degraded, progressing := observed(work, workv1.WorkDegraded), observed(work, workv1.WorkProgressing)
	switch {
	case is(applied, metav1.ConditionFalse) && isFinal(firstFailure(work)):
		return rollout.StateFailed, []*metav1.Condition{applied}
	case !is(applied, metav1.ConditionTrue):
		return rollout.StateProgressing, nil
	case is(degraded, metav1.ConditionTrue):
		return rollout.StateFailed, []*metav1.Condition{degraded}
	case is(progressing, metav1.ConditionFalse):
		return rollout.StateSucceeded, []*metav1.Condition{progressing, available}
	case progressing != nil:
		return rollout.StateProgressing, nil
	case is(available, metav1.ConditionTrue) || is(observed(work, workv1.WorkComplete), metav1.ConditionTrue):
		return rollout.StateSucceeded, []*metav1.Condition{available}
	default:
		return rollout.StateProgressing, nil
	}
}

// observed returns a condition of the present generation; nil without one.
func observed(work *workv1.ManifestWork, kind string) *metav1.Condition {
	condition := meta.FindStatusCondition(work.Status.Conditions, kind)
	if condition == nil || condition.ObservedGeneration != work.Generation {
		return nil
	}
	return condition
}

func is(condition *metav1.Condition, status metav1.ConditionStatus) bool {
	return condition != nil && condition.Status == status
}

// firstFailure returns the first manifest that retrying cannot mend, else the first that is not applied, else the first that is degraded;
// nil without any.
func firstFailure(work *workv1.ManifestWork) *workv1.ManifestCondition {
	var out *workv1.ManifestCondition
	best := 0
	for i := range work.Status.ResourceStatus.Manifests {
		manifest := &work.Status.ResourceStatus.Manifests[i]
		if rank := failureRank(manifest); rank > best {
			out, best = manifest, rank
		}
	}
	return out
}

// failureRank orders failures. A manifest without a failure has 0.
func failureRank(manifest *workv1.ManifestCondition) int {
	switch {
	case isFinal(manifest):
		return 3
	case meta.IsStatusConditionFalse(manifest.Conditions, workv1.WorkApplied):
		return 2
	case meta.IsStatusConditionTrue(manifest.Conditions, workv1.WorkDegraded):
		return 1
	default:
		return 0
	}
}

// isFinal reports whether a manifest is not applied for a reason that retrying cannot mend.
func isFinal(manifest *workv1.ManifestCondition) bool {
	if manifest == nil {
		return false
	}
	applied := meta.FindStatusCondition(manifest.Conditions, workv1.WorkApplied)
	return is(applied, metav1.ConditionFalse) && strings.HasPrefix(applied.Message, workv1.PermanentFailurePrefix)
}

// failureOf describes the manifest that fails: "Deployment shop/web: <message>"; empty where none fails.
func failureOf(work *workv1.ManifestWork) string {
	manifest := firstFailure(work)
	if manifest == nil {
		return trueMessage(work, workv1.WorkDegraded)
	}
	object := manifest.ResourceMeta
	name := object.Name
	if object.Namespace != "" {
		name = object.Namespace + "/" + name
	}
	kind := workv1.WorkDegraded
	if meta.IsStatusConditionFalse(manifest.Conditions, workv1.WorkApplied) {
		kind = workv1.WorkApplied
	}
	message := ""
	if condition := meta.FindStatusCondition(manifest.Conditions, kind); condition != nil {
		message = strings.TrimPrefix(condition.Message, workv1.PermanentFailurePrefix)
	}
	return fmt.Sprintf("%s %s: %s", cmp.Or(object.Kind, "object"), name, message)
}

// SameState reports whether a change of a work leaves every plan as it is. Labels, annotations, generation, conditions and the failure
// are the same then, and the deletion has not begun. The times of conditions do not count.
func SameState(before, after *workv1.ManifestWork) bool {
	return before.UID == after.UID && before.Generation == after.Generation &&
		before.DeletionTimestamp.IsZero() == after.DeletionTimestamp.IsZero() &&
		maps.Equal(before.Labels, after.Labels) && maps.Equal(before.Annotations, after.Annotations) &&
		slices.EqualFunc(before.Status.Conditions, after.Status.Conditions, func(a, b metav1.Condition) bool {
			return a.Type == b.Type && a.Status == b.Status && a.ObservedGeneration == b.ObservedGeneration
		}) && failureOf(before) == failureOf(after)
}

// trueMessage returns the message of a condition of a work that is True for its present generation; empty otherwise.
func trueMessage(work *workv1.ManifestWork, name string) string {
	condition := meta.FindStatusCondition(work.Status.Conditions, name)
	if condition == nil || condition.Status != metav1.ConditionTrue || condition.ObservedGeneration != work.Generation {
		return ""
	}
	return condition.Message
}
