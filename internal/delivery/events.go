package delivery

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/rollout"
)

// The reasons of the events on a ManifestWorkReplicaSet, with those of every rollout.
const (
	reasonRolloutAborted = "RolloutAborted"
	reasonRolloutHeld    = "RolloutHeld"
	reasonForeignWork    = "ForeignWork"
)

// statusEvents returns the events of a status that was stored over another one: one for each thing that began or ended with it. A status
// that only counts on has no event. The notes are from the conditions, which have no values of manifests.
func statusEvents(before, after *workv1alpha1.ManifestWorkReplicaSetStatus) []telemetry.Event {
	was, is := progressing(before), progressing(after)
	restarted := before.UpdateRevision != after.UpdateRevision
	reached := func(phase rollout.Phase) bool {
		return is.Reason == string(phase) && (restarted || was.Reason != string(phase))
	}
	var out []telemetry.Event
	add := func(when bool, kind, reason, note string) {
		if when {
			out = append(out, telemetry.NewEvent(kind, reason, telemetry.ActionRolledOut, "%s", note))
		}
	}
	add(restarted, corev1.EventTypeNormal, telemetry.ReasonRolloutStarted,
		"The rollout of template "+after.UpdateRevision+" begins: "+is.Message)
	aborted := before.AbortedTime == nil && after.AbortedTime != nil
	add(aborted, corev1.EventTypeWarning, reasonRolloutAborted, is.Message)
	add(!aborted && after.AbortedTime == nil && reached(rollout.PhaseBreached), corev1.EventTypeWarning, telemetry.ReasonRolloutBreached,
		is.Message+failures(after))
	add(reached(rollout.PhaseFinished), corev1.EventTypeNormal, telemetry.ReasonRolloutFinished, is.Message)
	add(strings.HasPrefix(is.Message, plan.PaceHold) && !strings.HasPrefix(was.Message, plan.PaceHold), corev1.EventTypeWarning,
		reasonRolloutHeld, is.Message)
	add(foreign(after) != "" && foreign(before) == "", corev1.EventTypeWarning, reasonForeignWork, foreign(after))
	return out
}

// progressing returns the condition Progressing; empty if it is missing.
func progressing(of *workv1alpha1.ManifestWorkReplicaSetStatus) metav1.Condition {
	if found := meta.FindStatusCondition(of.Conditions, workv1alpha1.Progressing); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// failures returns which clusters failed, from the condition ManifestworkApplied; empty without any.
func failures(of *workv1alpha1.ManifestWorkReplicaSetStatus) string {
	if found := meta.FindStatusCondition(of.Conditions, workv1alpha1.ManifestworkApplied); found != nil &&
		found.Reason == plan.ReasonNotAsExpected {
		return "; " + found.Message
	}
	return ""
}

// foreign returns the part of the conditions that names works which are not of the set; empty without any.
func foreign(of *workv1alpha1.ManifestWorkReplicaSetStatus) string {
	found := meta.FindStatusCondition(of.Conditions, workv1alpha1.ManifestworkApplied)
	if found == nil {
		return ""
	}
	_, named, has := strings.Cut(found.Message, plan.ForeignWorks)
	if !has {
		return ""
	}
	return plan.ForeignWorks + named
}

// recordEvents records the events of a stored status.
func (r *reconciler) recordEvents(set *workv1alpha1.ManifestWorkReplicaSet, after *workv1alpha1.ManifestWorkReplicaSetStatus) {
	for _, event := range statusEvents(&set.Status, after) {
		r.recorder.Eventf(set, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
}
