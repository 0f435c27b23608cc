package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/internal/kube/when"
	"github.com/berth-project/berth/internal/membership/registration"
	"github.com/berth-project/berth/rollout"
)

// noPlacement is the ruling placement of a cluster that no placement of the strategy selects.
const noPlacement = -1

// maxCopied bounds the annotations that a new add-on gets from its cluster, in bytes.
const maxCopied = 4096

// cluster is one cluster while a plan is made.
type cluster struct {
	name string
	// placement is the position of the last placement that selects the cluster.
	placement int
	addOn     *addonv1alpha1.ManagedClusterAddOn
	// gone means that the ManagedCluster does not exist or is being deleted: nothing is written there. disabled means that it keeps
	// add-ons of placements out.
	gone, disabled bool
	// waits means that nothing changes there: another placement may rule the cluster, which has no complete decision, or a configuration is
	// not read.
	waits bool
	// wants is what the cluster has to reach, and obstacle why it cannot.
	wants    []want
	obstacle string
	// fault is the refusal of the last write with what the cluster has to reach, formerFault that of the one with the former configurations;
	// nil without one.
	fault, formerFault *evidence.Fault

	state   rollout.State
	since   time.Time
	verdict rollout.Verdict
	// starts means that the cluster has to reach what it wants from now on, begins that it will once the stored record has it.
	starts, begins bool
}

// follows reports whether the rollout over a placement has the cluster.
func (c *cluster) follows(placement int) bool {
	return c.placement == placement && !c.gone && !c.waits && (c.addOn != nil || !c.disabled)
}

// classify sets the state of a cluster.
func (p *planner) classify(c *cluster) {
	if object := p.in.Clusters[c.name]; object == nil || !object.DeletionTimestamp.IsZero() {
		c.gone = true
		return
	} else if _, disabled := object.Annotations[addonv1alpha1.DisableInstallationAnnotation]; disabled {
		c.disabled = true
	}
	c.wants, c.obstacle = p.wantsOf(c)
	if c.addOn == nil && c.obstacle == "" {
		c.obstacle = p.installObstacle(c)
	}
	c.waits = p.areUnread(c.wants) || p.mayBeRuledByAnother(c)
	if fault, has := p.in.Faults[c.name]; has && fault.Hash == hashOf(c.wants) {
		c.fault = &fault
	} else if has && c.placement != noPlacement {
		if former := p.placements[c.placement].former; former != nil && fault.Hash == hashOf(former) {
			c.formerFault = &fault
		}
	}
	c.state, c.since = stateOf(c.addOn, c.wants, p.in.Now)
	switch {
	case c.obstacle != "":
		c.state, c.since = rollout.StateSkip, time.Time{}
	case c.state == rollout.StateToApply && c.fault != nil && c.fault.Permanent:
		c.state, c.since = rollout.StateFailed, c.fault.Since
	}
}

// mayBeRuledByAnother reports whether the placement that ruled a configured cluster may still select it, because its decision is not
// complete. Where that placement was taken out of the strategy, it is any placement: the new name may be wrong. An add-on of a user that no
// placement ruled waits for each decision that is being made: it would get its configuration before the canaries.
func (p *planner) mayBeRuledByAnother(c *cluster) bool {
	switch {
	case c.addOn == nil:
		return false
	case !isConfigured(c.addOn) || c.addOn.Annotations[addonv1alpha1.PlacementAnnotation] == "":
		return c.placement == noPlacement && slices.ContainsFunc(p.placements, func(s placementState) bool {
			return s.slices != reading.Decided && s.slices != reading.Missing
		})
	}
	for i := range p.placements {
		if p.placements[i].key == c.addOn.Annotations[addonv1alpha1.PlacementAnnotation] {
			return i != c.placement && !p.placements[i].complete()
		}
	}
	return !p.allComplete()
}

// isConfigured reports whether the hub wrote the configurations of an add-on before.
func isConfigured(addOn *addonv1alpha1.ManagedClusterAddOn) bool {
	return len(addOn.Status.ConfigReferences) > 0 || meta.FindStatusCondition(addOn.Status.Conditions,
		addonv1alpha1.ManagedClusterAddOnConditionConfigured) != nil
}

// stateOf returns how far the configurations have come on the cluster of an add-on, and since when. A nil add-on is StateToApply. Since is
// between the start, which the hub recorded, and now: the clock of an add-on skips no soak time and passes no deadline.
func stateOf(addOn *addonv1alpha1.ManagedClusterAddOn, wants []want, now time.Time) (state rollout.State, since time.Time) {
	switch {
	case addOn == nil || !addOn.DeletionTimestamp.IsZero():
		return rollout.StateToApply, time.Time{}
	case !isConfigured(addOn) && addOn.Annotations[addonv1alpha1.ConfigHashAnnotation] == hashOf(wants):
		return rollout.StateProgressing, when.NotAfter(addOn.CreationTimestamp.Time, now) // it was created for them
	case !isConfigured(addOn) || !isCurrent(addOn, wants):
		return rollout.StateToApply, time.Time{}
	}
	state, condition := reportedState(addOn)
	since = startOf(addOn)
	if condition != nil && condition.LastTransitionTime.After(since) {
		since = condition.LastTransitionTime.Time
	}
	return state, when.NotAfter(since, now)
}

// startOf returns when the add-on got its present configurations, as the hub recorded it: the time of condition Configured.
func startOf(addOn *addonv1alpha1.ManagedClusterAddOn) time.Time {
	configured := meta.FindStatusCondition(addOn.Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionConfigured)
	if configured == nil || configured.Status != metav1.ConditionTrue || configured.LastTransitionTime.Before(&addOn.CreationTimestamp) {
		return addOn.CreationTimestamp.Time
	}
	return configured.LastTransitionTime.Time
}

// reportedState returns the state that an add-on with the present configurations reports, and the condition that began it.
func reportedState(addOn *addonv1alpha1.ManagedClusterAddOn) (rollout.State, *metav1.Condition) {
	find := func(kind string) *metav1.Condition { return meta.FindStatusCondition(addOn.Status.Conditions, kind) }
	is := func(condition *metav1.Condition, status metav1.ConditionStatus) bool {
		return condition != nil && condition.Status == status
	}
	progressing, degraded := find(addonv1alpha1.ManagedClusterAddOnConditionProgressing),
		find(addonv1alpha1.ManagedClusterAddOnConditionDegraded)
	available := find(addonv1alpha1.ManagedClusterAddOnConditionAvailable)
	if !isApplied(addOn.Status.ConfigReferences) && degraded != nil && degraded.LastTransitionTime.Time.Before(startOf(addOn)) {
		degraded = nil // it is about the configurations before
	}
	switch {
	case progressing != nil && progressing.Reason == addonv1alpha1.ProgressingReasonFailed:
		return rollout.StateFailed, progressing
	case is(degraded, metav1.ConditionTrue):
		return rollout.StateFailed, degraded
	case progressing == nil && len(addOn.Status.ConfigReferences) == 0 && is(available, metav1.ConditionTrue):
		return rollout.StateSucceeded, available // an add-on without configurations that does not report its progress
	case !isApplied(addOn.Status.ConfigReferences) || !is(progressing, metav1.ConditionFalse) ||
		progressing.Reason != addonv1alpha1.ProgressingReasonCompleted:
		return rollout.StateProgressing, progressing
	case is(available, metav1.ConditionFalse):
		return rollout.StateFailed, available
	default:
		return rollout.StateSucceeded, progressing
	}
}

// failure returns why the cluster has failed, for the record of the rollout; empty for a cluster that has not.
func (c *cluster) failure() string {
	switch {
	case c.fault != nil && c.fault.Permanent:
		return "the API server refused the write: " + c.fault.Message
	case c.addOn != nil && c.state == rollout.StateFailed:
		return failureOf(c.addOn)
	default:
		return ""
	}
}

// creation returns the write that installs the add-on on a cluster. Ok is false for a cluster that does not get it now.
func (p *planner) creation(c *cluster) (write Write, ok bool) {
	if c.placement == noPlacement || !c.follows(c.placement) || c.begins {
		return Write{}, false
	}
	s, wants, fault := &p.placements[c.placement], c.wants, c.fault
	refused := c.fault != nil && c.fault.Permanent && c.state == rollout.StateFailed // a failed cluster is not started again by a step
	if !c.starts && (!refused || s.frozen) {
		wants, fault = s.former, c.formerFault
		if wants == nil || c.obstacle != "" || !evidence.Waits(c.verdict.Code) { // being new is no reason to run nothing
			return Write{}, false
		}
	}
	if fault.Delays(p.in.Now) {
		p.wakeAt(fault.Retry)
		return Write{}, false
	}
	object := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.name, Name: p.in.AddOn.Name, Annotations: p.copiedAnnotations(c),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: addonv1alpha1.GroupVersion.String(), Kind: "ClusterManagementAddOn", Name: p.in.AddOn.Name, UID: p.in.AddOn.UID,
			Controller: new(true),
		}},
	}}
	object.Annotations[addonv1alpha1.PlacementAnnotation], object.Annotations[addonv1alpha1.ConfigHashAnnotation] = s.key, hashOf(wants)
	return Write{Verb: Create, Cluster: c.name, Object: object, Hash: hashOf(wants)}, true
}

// copiedAnnotations returns the annotations of the cluster that are of add-ons.
func (p *planner) copiedAnnotations(c *cluster) map[string]string {
	out := map[string]string{}
	for key, value := range p.in.Clusters[c.name].Annotations {
		if strings.HasPrefix(key, addonv1alpha1.AnnotationPrefix) && key != addonv1alpha1.InstallNamespaceAnnotation {
			out[key] = value
		}
	}
	return out
}

// installObstacle returns why the add-on cannot be installed on a cluster; empty where it can. The namespace of an imported cluster may be
// that of a team, since the inventory chose the name.
func (p *planner) installObstacle(c *cluster) string {
	if registration.Imported(p.in.Clusters[c.name]) {
		return "the cluster is imported from another inventory and has no agent of this hub"
	}
	size := 0
	for key, value := range p.copiedAnnotations(c) {
		size += len(key) + len(value)
	}
	if size <= maxCopied {
		return ""
	}
	return fmt.Sprintf("the annotations %s* of the cluster have %d bytes, and at most %d are copied to a new add-on: shorten them",
		addonv1alpha1.AnnotationPrefix, size, maxCopied)
}

// annotation returns the write that records which placement rules the add-on of a cluster. Ok is false where it is on record.
func (p *planner) annotation(c *cluster) (write Write, ok bool) {
	if c.placement == noPlacement || c.waits || !c.addOn.DeletionTimestamp.IsZero() {
		return Write{}, false
	}
	key := p.placements[c.placement].key
	if c.addOn.Annotations[addonv1alpha1.PlacementAnnotation] == key {
		return Write{}, false
	}
	write = p.fenced(UpdateMetadata, c)
	write.Annotations, write.Hash = map[string]string{addonv1alpha1.PlacementAnnotation: key}, hashOf(c.wants)
	return write, p.due(c)
}

// due reports whether the last write for a cluster is not delayed.
func (p *planner) due(c *cluster) bool {
	if c.fault.Delays(p.in.Now) {
		p.wakeAt(c.fault.Retry)
		return false
	}
	return true
}

// statusWrite returns the write of the hub's part of the status. Ok is false where it is stored.
func (p *planner) statusWrite(c *cluster) (write Write, ok bool) {
	if !c.addOn.DeletionTimestamp.IsZero() {
		return Write{}, false
	}
	status := p.statusOf(c)
	if equality.Semantic.DeepEqual(*status, c.addOn.Status) {
		return Write{}, false
	}
	write = p.fenced(UpdateStatus, c)
	write.Status, write.Hash = status, hashOf(c.wants)
	return write, p.due(c)
}

// startedWants returns what the add-on of a cluster has to reach from now on. Ok is false where that stays as it is.
func (p *planner) startedWants(c *cluster) (wants []want, ok bool) {
	switch {
	case c.obstacle != "" || c.waits || c.begins:
		return nil, false
	case c.placement == noPlacement:
		// What was installed by hand follows at once. What a strategy installed keeps its configurations until it goes, or, once the strategy
		// is Manual, until it names its own: a strategy that is lost by mistake changes nothing.
		return c.wants, !Controls(p.in.AddOn, c.addOn) || !p.byPlacements() && len(c.addOn.Spec.Configs) > 0
	case c.starts || c.state != rollout.StateToApply:
		return c.wants, true
	}
	former := p.placements[c.placement].former
	return former, former != nil && !isConfigured(c.addOn) && c.addOn.Annotations[addonv1alpha1.ConfigHashAnnotation] == hashOf(former)
}

// statusOf returns the status of an add-on with the hub's part as it has to be.
func (p *planner) statusOf(c *cluster) *addonv1alpha1.ManagedClusterAddOnStatus {
	spec, out := &p.in.AddOn.Spec, c.addOn.Status.DeepCopy()
	out.AddOnMeta, out.SupportedConfigs = spec.AddOnMeta, nil
	for _, kind := range spec.SupportedConfigs {
		out.SupportedConfigs = append(out.SupportedConfigs, kind.ConfigGroupResource)
	}
	out.RelatedObjects = withReference(out.RelatedObjects, addonv1alpha1.ObjectReference{
		Group: addonv1alpha1.GroupName, Resource: "clustermanagementaddons", Name: p.in.AddOn.Name,
	})
	wants, starts := p.startedWants(c)
	if c.obstacle != "" {
		p.setCondition(c, out, metav1.Condition{
			Type: addonv1alpha1.ManagedClusterAddOnConditionConfigured, Status: metav1.ConditionFalse,
			Reason: addonv1alpha1.ConfiguredReasonNotConfigured, Message: "The add-on keeps the configurations that it has: " + c.obstacle,
		})
	}
	if !starts {
		if c.obstacle == "" && !c.waits && meta.IsStatusConditionFalse(out.Conditions, addonv1alpha1.ManagedClusterAddOnConditionConfigured) {
			p.setCondition(c, out, metav1.Condition{
				Type: addonv1alpha1.ManagedClusterAddOnConditionConfigured, Status: metav1.ConditionFalse,
				Reason: addonv1alpha1.ConfiguredReasonNotConfigured, Message: "The add-on keeps the configurations that it has " +
					"until its cluster is started",
			})
		}
		return out
	}
	if !isCurrent(c.addOn, wants) {
		meta.RemoveStatusCondition(&out.Conditions, addonv1alpha1.ManagedClusterAddOnConditionConfigured) // its time is that of the start
	}
	p.setCondition(c, out, metav1.Condition{
		Type: addonv1alpha1.ManagedClusterAddOnConditionConfigured, Status: metav1.ConditionTrue,
		Reason: addonv1alpha1.ConfiguredReasonConfigured, Message: "configReferences has the configurations to reach",
	})
	if isCurrent(c.addOn, wants) {
		return out
	}
	out.ConfigReferences = referencesTo(wants, out.ConfigReferences)
	if len(wants) == 0 {
		return out
	}
	progressing := metav1.Condition{
		Type: addonv1alpha1.ManagedClusterAddOnConditionProgressing, Status: metav1.ConditionTrue,
		Reason: addonv1alpha1.ProgressingReasonProgressing, Message: "The add-on has to apply the configurations in configReferences",
	}
	if isApplied(out.ConfigReferences) { // a return to what the add-on applied before, so it reports nothing
		progressing.Status, progressing.Reason = metav1.ConditionFalse, addonv1alpha1.ProgressingReasonCompleted
		progressing.Message = "The add-on has applied the configurations in configReferences"
	}
	// The time is that of the start, also where the add-on was still applying other configurations.
	meta.RemoveStatusCondition(&out.Conditions, progressing.Type)
	p.setCondition(c, out, progressing)
	return out
}

// setCondition sets a condition. Its time changes only with its status.
func (p *planner) setCondition(c *cluster, status *addonv1alpha1.ManagedClusterAddOnStatus, condition metav1.Condition) {
	condition.ObservedGeneration, condition.LastTransitionTime = c.addOn.Generation, metav1.NewTime(p.in.Now.Truncate(time.Second))
	condition.Message = phrase.Cut(condition.Message, phrase.MaxMessage)
	meta.SetStatusCondition(&status.Conditions, condition)
}

// withReference returns the objects with one more, where it is new.
func withReference(objects []addonv1alpha1.ObjectReference, object addonv1alpha1.ObjectReference) []addonv1alpha1.ObjectReference {
	if slices.Contains(objects, object) {
		return objects
	}
	return append(objects, object)
}
