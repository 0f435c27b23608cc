package plan

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	workv1 "github.com/berth-project/berth/api/work/v1"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/rollout"
)

// The resources that a template is rendered from.
const templateResource, deploymentConfigResource = "addontemplates", "addondeploymentconfigs"

var errOtherConfig = errors.New("a template reads one AddOnTemplate and AddOnDeploymentConfigs; leave other configurations out")

// Reasons on the condition Available of an add-on with a template.
const (
	reasonWorkNotApplied   = "WorkNotApplied"
	reasonWorkApplyFailed  = "WorkApplyFailed"
	reasonProbeAvailable   = "ProbeAvailable"
	reasonProbeUnavailable = "ProbeUnavailable"
	reasonNoProbeResult    = "NoProbeResult"
)

// DesiredTemplate returns the AddOnTemplate that an add-on has to reach; nil for an add-on without a template. An error is a mistake of a
// user: there are two templates, or a configuration that no template reads.
func DesiredTemplate(addOn *addonv1alpha1.ManagedClusterAddOn) (desired *addonv1alpha1.ConfigSpecHash, err error) {
	others := ""
	for _, reference := range addOn.Status.ConfigReferences {
		switch {
		case reference.Group == addonv1alpha1.GroupName && reference.Resource == templateResource && desired == nil:
			desired = reference.DesiredConfig
		case reference.Group == addonv1alpha1.GroupName && reference.Resource == deploymentConfigResource:
		default:
			others = reference.Resource + " " + reference.Name
		}
	}
	if desired != nil && others != "" {
		err = fmt.Errorf("%s: %w", others, errOtherConfig)
	}
	return desired, err
}

// NamesConfigs reports whether the spec of an add-on, or the ClusterManagementAddOn, names each configuration that the add-on has to reach.
// So a client that may write the status of an add-on, and nothing else, changes nothing on a member.
func NamesConfigs(of *addonv1alpha1.ClusterManagementAddOn, addOn *addonv1alpha1.ManagedClusterAddOn) bool {
	named := Objects(of, []*addonv1alpha1.ManagedClusterAddOn{addOn})
	return !slices.ContainsFunc(addOn.Status.ConfigReferences, func(reference addonv1alpha1.ConfigReference) bool {
		return reference.DesiredConfig == nil || !slices.Contains(named,
			objectOf(reference.ConfigGroupResource, reference.DesiredConfig.ConfigReferent))
	})
}

// IsSettled reports whether an add-on has applied what it has to reach.
func IsSettled(addOn *addonv1alpha1.ManagedClusterAddOn) bool {
	return isApplied(addOn.Status.ConfigReferences)
}

// TemplateFailed returns the status of an add-on whose template cannot be delivered to its cluster. What runs there keeps its health.
func TemplateFailed(on OnCluster, message string) *addonv1alpha1.ManagedClusterAddOnStatus {
	addOn, now := on.AddOn, on.Now
	out := on.health()
	on.setDelivered(out, metav1.ConditionFalse, reasonNotDelivered, message)
	setProgress(addOn, out, metav1.ConditionFalse, addonv1alpha1.ProgressingReasonFailed, message, now)
	return out
}

// conditionTemplateDelivered is whether the work of an add-on with a template has what the add-on has to reach. It is also the sign that
// Berth writes the health of the add-on.
const conditionTemplateDelivered = "TemplateDelivered"

// The reasons of conditionTemplateDelivered.
const (
	reasonDelivered    = "Delivered"
	reasonNotDelivered = "NotDelivered"
	reasonNoTemplate   = "NoTemplate"
	reasonNotNamed     = "NotNamed"
	reasonRemoved      = "WorkIsRemoved"
)

// healthByWork is the mode in which no agent follows a Lease of the add-on.
const healthByWork = addonv1alpha1.HealthCheckModeCustomized

// OnCluster is an add-on with a template on one cluster.
type OnCluster struct {
	AddOn *addonv1alpha1.ManagedClusterAddOn
	// Work is the work with the name of the add-on's; nil without one.
	Work *workv1.ManifestWork
	// Lost is the condition Available of a cluster that is Unknown; nil for another cluster.
	Lost *metav1.Condition
	Now  time.Time
}

// runs reports whether the cluster has a work that Berth rendered for the add-on.
func (o *OnCluster) runs() bool {
	return o.Work != nil && IsRendered(o.Work) && metav1.IsControlledBy(o.Work, o.AddOn) && o.Work.DeletionTimestamp.IsZero()
}

// setDelivered sets the condition TemplateDelivered.
func (o *OnCluster) setDelivered(status *addonv1alpha1.ManagedClusterAddOnStatus, is metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: conditionTemplateDelivered, Status: is, Reason: reason, Message: phrase.Cut(message, phrase.MaxMessage),
		ObservedGeneration: o.AddOn.Generation, LastTransitionTime: metav1.NewTime(o.Now.Truncate(time.Second)),
	})
}

// health returns the status of an add-on with the health of its work, and as it is without a work.
func (o *OnCluster) health() *addonv1alpha1.ManagedClusterAddOnStatus {
	out := o.AddOn.Status.DeepCopy()
	if !o.runs() {
		return out
	}
	out.HealthCheck.Mode = healthByWork
	available, reported := availability(o.Work)
	if o.Lost != nil {
		available.Status, available.Reason, available.Message, reported = metav1.ConditionUnknown, o.Lost.Reason, o.Lost.Message, true
	}
	if reported || meta.FindStatusCondition(out.Conditions, available.Type) == nil {
		o.setAvailable(out, available)
	}
	return out
}

func (o *OnCluster) setAvailable(status *addonv1alpha1.ManagedClusterAddOnStatus, available metav1.Condition) {
	available.ObservedGeneration, available.LastTransitionTime = o.AddOn.Generation, metav1.NewTime(o.Now.Truncate(time.Second))
	available.Message = phrase.Cut(available.Message, phrase.MaxMessage)
	meta.SetStatusCondition(&status.Conditions, available)
}

// WithoutTemplate returns the status of an add-on without a template. A work of a former template stays: only a decision, or its deletion
// by a user, takes away what runs. Without that work, the health is by Lease again.
func WithoutTemplate(on OnCluster) *addonv1alpha1.ManagedClusterAddOnStatus {
	out := on.health()
	switch {
	case on.runs():
		on.setDelivered(out, metav1.ConditionFalse, reasonNoTemplate,
			"The configurations have no AddOnTemplate any more, so ManifestWork "+on.Work.Name+
				" stays as it is. Delete it to remove what it delivered")
	case meta.FindStatusCondition(out.Conditions, conditionTemplateDelivered) != nil:
		out.HealthCheck.Mode = addonv1alpha1.HealthCheckModeLease
		meta.RemoveStatusCondition(&out.Conditions, conditionTemplateDelivered)
		meta.RemoveStatusCondition(&out.Conditions, addonv1alpha1.ManagedClusterAddOnConditionAvailable)
	}
	return out
}

// NotNamed returns the status of an add-on whose configurations nothing names any more.
func NotNamed(on OnCluster) *addonv1alpha1.ManagedClusterAddOnStatus {
	out := on.health()
	on.setDelivered(out, metav1.ConditionFalse, reasonNotNamed,
		"Neither the spec of the add-on nor the ClusterManagementAddOn names the configurations in configReferences any more, "+
			"so what runs stays as it is")
	return out
}

// WorkIsRemoved returns the status of an add-on whose work has to go before a new one is created.
func WorkIsRemoved(on OnCluster) *addonv1alpha1.ManagedClusterAddOnStatus {
	out := on.health()
	message := "ManifestWork " + on.Work.Name + " is being removed from the member, and is created again then"
	on.setDelivered(out, metav1.ConditionFalse, reasonRemoved, message)
	on.setAvailable(out, metav1.Condition{
		Type: addonv1alpha1.ManagedClusterAddOnConditionAvailable, Status: metav1.ConditionUnknown, Reason: reasonNoProbeResult, Message: message,
	})
	return out
}

// TemplateHealth returns the status of an add-on whose template or configuration has another content now than the add-on has to reach.
func TemplateHealth(on OnCluster) *addonv1alpha1.ManagedClusterAddOnStatus { return on.health() }

// TemplateReport returns the status of an add-on from the state of its work, which has the present content.
func TemplateReport(on OnCluster, state rollout.State, namespace string) *addonv1alpha1.ManagedClusterAddOnStatus {
	addOn, work, now := on.AddOn, on.Work, on.Now
	out := on.health()
	out.Namespace = namespace
	on.setDelivered(out, metav1.ConditionTrue, reasonDelivered, "ManifestWork "+work.Name+" has the template")
	switch {
	case state == rollout.StateSucceeded:
		for i := range out.ConfigReferences {
			out.ConfigReferences[i].LastAppliedConfig = out.ConfigReferences[i].DesiredConfig.DeepCopy()
		}
		setProgress(addOn, out, metav1.ConditionFalse, addonv1alpha1.ProgressingReasonCompleted,
			"The work has the configurations in configReferences and is healthy", now)
	case isApplied(out.ConfigReferences) && !isObserved(work): // a return to former content, which the member does not have again yet
		setProgress(addOn, out, metav1.ConditionTrue, addonv1alpha1.ProgressingReasonProgressing, "ManifestWork "+work.Name+" is being applied",
			now)
	case state == rollout.StateFailed && !isApplied(out.ConfigReferences):
		setProgress(addOn, out, metav1.ConditionFalse, addonv1alpha1.ProgressingReasonFailed, "ManifestWork "+work.Name+" failed: "+failure(work),
			now)
	default: // the condition stays
	}
	return out
}

// isObserved reports whether the agent has reported on the present generation of a work.
func isObserved(work *workv1.ManifestWork) bool {
	applied := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	return applied != nil && applied.ObservedGeneration == work.Generation
}

// setProgress sets the condition Progressing. Its time is that of the last change of its status or reason, because the soak time counts
// from it.
func setProgress(
	addOn *addonv1alpha1.ManagedClusterAddOn, status *addonv1alpha1.ManagedClusterAddOnStatus, is metav1.ConditionStatus,
	reason, message string, now time.Time,
) {
	const kind = addonv1alpha1.ManagedClusterAddOnConditionProgressing
	if before := meta.FindStatusCondition(status.Conditions, kind); before != nil && before.Reason != reason {
		meta.RemoveStatusCondition(&status.Conditions, kind)
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: kind, Status: is, Reason: reason,
		Message: phrase.Cut(message, phrase.MaxMessage), ObservedGeneration: addOn.Generation,
		LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	})
}

// availability returns the condition Available from the conditions of a work. Reported is false where the agent cannot read the objects
// now: a condition from before counts on.
func availability(work *workv1.ManifestWork) (out metav1.Condition, reported bool) {
	out = metav1.Condition{Type: addonv1alpha1.ManagedClusterAddOnConditionAvailable, Status: metav1.ConditionFalse}
	is := func(kind string, status metav1.ConditionStatus) bool {
		return meta.IsStatusConditionPresentAndEqual(work.Status.Conditions, kind, status)
	}
	switch {
	case is(workv1.WorkApplied, metav1.ConditionFalse):
		out.Reason, out.Message = reasonWorkApplyFailed, "ManifestWork "+work.Name+" is not applied: "+failure(work)
	case !is(workv1.WorkApplied, metav1.ConditionTrue):
		out.Status, out.Reason, out.Message = metav1.ConditionUnknown, reasonWorkNotApplied, "ManifestWork "+work.Name+" is not applied yet"
		return out, false
	case is(workv1.WorkAvailable, metav1.ConditionFalse), is(workv1.WorkDegraded, metav1.ConditionTrue):
		out.Reason, out.Message = reasonProbeUnavailable, "ManifestWork "+work.Name+" is not healthy: "+failure(work)
	case is(workv1.WorkAvailable, metav1.ConditionTrue):
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, reasonProbeAvailable, "ManifestWork "+work.Name+" is healthy"
	default:
		out.Status, out.Reason, out.Message = metav1.ConditionUnknown, reasonNoProbeResult,
			"The health of ManifestWork "+work.Name+" is not reported"
		return out, false
	}
	return out, true
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
	return "its conditions have no message"
}
