package addon

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

// statusEvents returns the events of a status of an add-on that was stored over another one: one for each rollout that finished or failed.
func statusEvents(before, after *addonv1alpha1.ClusterManagementAddOnStatus) []telemetry.Event {
	reasons := map[addonv1alpha1.PlacementRef]string{}
	for i := range before.InstallProgressions {
		if found := meta.FindStatusCondition(before.InstallProgressions[i].Conditions,
			addonv1alpha1.ManagedClusterAddOnConditionProgressing); found != nil {
			reasons[before.InstallProgressions[i].PlacementRef] = found.Reason
		}
	}
	var out []telemetry.Event
	for i := range after.InstallProgressions {
		progression := &after.InstallProgressions[i]
		is := meta.FindStatusCondition(progression.Conditions, addonv1alpha1.ManagedClusterAddOnConditionProgressing)
		if is == nil || reasons[progression.PlacementRef] == is.Reason {
			continue
		}
		add := func(kind, reason string) {
			out = append(out, telemetry.NewEvent(kind, reason, telemetry.ActionRolledOut, "Placement %s/%s: %s", progression.Namespace,
				progression.Name, is.Message))
		}
		switch is.Reason {
		case addonv1alpha1.ProgressingReasonProgressing:
			add(corev1.EventTypeNormal, telemetry.ReasonRolloutStarted)
		case addonv1alpha1.ProgressingReasonCompleted:
			add(corev1.EventTypeNormal, telemetry.ReasonRolloutFinished)
		case addonv1alpha1.ProgressingReasonFailed:
			add(corev1.EventTypeWarning, telemetry.ReasonRolloutBreached)
		}
	}
	return out
}
