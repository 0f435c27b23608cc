package addon

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/pacing"
	"github.com/berth-project/berth/rollout"
)

// templateResource is the resource of AddOnTemplates.
const templateResource = "addontemplates"

// Reasons on the condition Available of an add-on with a template.
const (
	reasonWorkNotApplied   = "WorkNotApplied"
	reasonWorkApplyFailed  = "WorkApplyFailed"
	reasonProbeAvailable   = "ProbeAvailable"
	reasonProbeUnavailable = "ProbeUnavailable"
)

// DesiredTemplate returns the AddOnTemplate that an add-on has to reach; nil for an add-on without a template.
func DesiredTemplate(addOn *addonv1alpha1.ManagedClusterAddOn) *addonv1alpha1.ConfigSpecHash {
	for _, reference := range addOn.Status.ConfigReferences {
		if reference.Group == addonv1alpha1.GroupName && reference.Resource == templateResource {
			return reference.DesiredConfig
		}
	}
	return nil
}

// TemplateFailed returns the status of an add-on whose template cannot be delivered to its cluster.
func TemplateFailed(addOn *addonv1alpha1.ManagedClusterAddOn, message string, now time.Time) *addonv1alpha1.ManagedClusterAddOnStatus {
	out := addOn.Status.DeepCopy()
	out.HealthCheck.Mode = healthByWork
	setProgress(addOn, out, addonv1alpha1.ProgressingReasonFailed, message, now)
	return out
}

// conditionTemplateDelivered is False on an add-on that has the work of a template, and no template any more.
const (
	conditionTemplateDelivered = "TemplateDelivered"
	reasonNoTemplate           = "NoTemplate"
)

// WithoutTemplate returns the status of an add-on without a template. A work of a former template stays: only a decision, or its deletion by
// a user, takes away what runs.
func WithoutTemplate(addOn *addonv1alpha1.ManagedClusterAddOn, work *workv1.ManifestWork, now time.Time) *addonv1alpha1.ManagedClusterAddOnStatus {
	out := addOn.Status.DeepCopy()
	if work == nil || !metav1.IsControlledBy(work, addOn) || !work.DeletionTimestamp.IsZero() {
		meta.RemoveStatusCondition(&out.Conditions, conditionTemplateDelivered)
		return out
	}
	meta.SetStatusCondition(&out.Conditions, metav1.Condition{
		Type: conditionTemplateDelivered, Status: metav1.ConditionFalse, Reason: reasonNoTemplate,
		Message:            "The configurations have no AddOnTemplate any more, so ManifestWork " + work.Name + " stays as it is. Delete it to remove what it delivered",
		ObservedGeneration: addOn.Generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	})
	return out
}

// healthByWork is the mode in which no agent follows a Lease of the add-on.
const healthByWork addonv1alpha1.HealthCheckMode = "Customized"

// TemplateReport returns the status of an add-on from the state of its work, which has the present content.
func TemplateReport(
	addOn *addonv1alpha1.ManagedClusterAddOn, work *workv1.ManifestWork, state rollout.State, namespace string, now time.Time,
) *addonv1alpha1.ManagedClusterAddOnStatus {
	out := addOn.Status.DeepCopy()
	out.HealthCheck.Mode, out.Namespace = healthByWork, namespace
	meta.RemoveStatusCondition(&out.Conditions, conditionTemplateDelivered)
	switch state {
	case rollout.StateSucceeded:
		for i := range out.ConfigReferences {
			out.ConfigReferences[i].LastAppliedConfig = out.ConfigReferences[i].DesiredConfig.DeepCopy()
		}
		setProgress(addOn, out, addonv1alpha1.ProgressingReasonCompleted, "The work has the configurations in configReferences and is healthy", now)
	case rollout.StateFailed:
		if !isApplied(out.ConfigReferences) {
			setProgress(addOn, out, addonv1alpha1.ProgressingReasonFailed, "ManifestWork "+work.Name+" failed: "+failure(work), now)
		}
	default: // the condition stays: the work is on its way
	}
	available := availability(work)
	available.ObservedGeneration, available.LastTransitionTime = addOn.Generation, metav1.NewTime(now.Truncate(time.Second))
	meta.SetStatusCondition(&out.Conditions, available)
	return out
}

// setProgress ends the progress of an add-on.
func setProgress(addOn *addonv1alpha1.ManagedClusterAddOn, status *addonv1alpha1.ManagedClusterAddOnStatus, reason, message string, now time.Time) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: addonv1alpha1.ManagedClusterAddOnConditionProgressing, Status: metav1.ConditionFalse, Reason: reason,
		Message: pacing.CutText(message, pacing.MaxMessage), ObservedGeneration: addOn.Generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	})
}

// availability returns the condition Available from the conditions of a work.
func availability(work *workv1.ManifestWork) metav1.Condition {
	out := metav1.Condition{Type: addonv1alpha1.ManagedClusterAddOnConditionAvailable, Status: metav1.ConditionFalse}
	is := func(kind string, status metav1.ConditionStatus) bool {
		return meta.IsStatusConditionPresentAndEqual(work.Status.Conditions, kind, status)
	}
	switch {
	case is(workv1.WorkApplied, metav1.ConditionFalse):
		out.Reason, out.Message = reasonWorkApplyFailed, "ManifestWork "+work.Name+" is not applied: "+failure(work)
	case !is(workv1.WorkApplied, metav1.ConditionTrue):
		out.Status, out.Reason, out.Message = metav1.ConditionUnknown, reasonWorkNotApplied, "ManifestWork "+work.Name+" is not applied yet"
	case !is(workv1.WorkAvailable, metav1.ConditionTrue), is(workv1.WorkDegraded, metav1.ConditionTrue):
		out.Reason, out.Message = reasonProbeUnavailable, "ManifestWork "+work.Name+" is not healthy: "+failure(work)
	default:
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, reasonProbeAvailable, "ManifestWork "+work.Name+" is healthy"
	}
	return out
}

// failure returns the message of the first condition of a work that reports a failure.
func failure(work *workv1.ManifestWork) string {
	for _, kind := range []string{workv1.WorkApplied, workv1.WorkAvailable} {
		if found := meta.FindStatusCondition(work.Status.Conditions, kind); found != nil && found.Status == metav1.ConditionFalse {
			return found.Message
		}
	}
	if found := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkDegraded); found != nil && found.Status == metav1.ConditionTrue {
		return found.Message
	}
	return "it has not reported yet"
}
