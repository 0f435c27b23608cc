package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/rollout"
)

// status returns the status of the add-on.
func (p *planner) status() addonv1alpha1.ClusterManagementAddOnStatus {
	out := addonv1alpha1.ClusterManagementAddOnStatus{}
	for _, kind := range p.in.AddOn.Spec.SupportedConfigs {
		if kind.DefaultConfig != nil {
			if p.areUnread([]want{{kind.ConfigGroupResource, addonv1alpha1.ConfigSpecHash{ConfigReferent: *kind.DefaultConfig}}}) {
				out.DefaultConfigReferences = p.in.AddOn.Status.DeepCopy().DefaultConfigReferences
				break
			}
			hash := p.in.Configs[objectOf(kind.ConfigGroupResource, *kind.DefaultConfig)].Hash
			out.DefaultConfigReferences = append(out.DefaultConfigReferences, addonv1alpha1.DefaultConfigReference{
				ConfigGroupResource: kind.ConfigGroupResource,
				DesiredConfig:       &addonv1alpha1.ConfigSpecHash{ConfigReferent: *kind.DefaultConfig, SpecHash: hash},
			})
		}
	}
	for i := range p.placements {
		out.InstallProgressions = append(out.InstallProgressions, p.progression(i))
	}
	return out
}

// progressionOf returns the stored progress on the clusters of a placement; nil without any.
func (p *planner) progressionOf(key string) *addonv1alpha1.InstallProgression {
	for i := range p.in.AddOn.Status.InstallProgressions {
		found := &p.in.AddOn.Status.InstallProgressions[i]
		if found.Namespace+"/"+found.Name == key {
			return found
		}
	}
	return nil
}

// progression returns the progress on the clusters of a placement.
func (p *planner) progression(placement int) addonv1alpha1.InstallProgression {
	s := &p.placements[placement]
	out := addonv1alpha1.InstallProgression{PlacementRef: s.reference}
	before := p.progressionOf(s.key)
	if before != nil {
		out.Conditions = append(out.Conditions, before.Conditions...)
	}
	if before != nil && p.areUnread(s.wants) {
		return *before.DeepCopy()
	}
	counts := p.count(placement)
	for i := range s.wants {
		out.ConfigReferences = append(out.ConfigReferences, s.progressOf(s.wants[i], before, counts))
	}
	out.Rollout = s.record
	condition := p.progressing(placement, counts)
	condition.Message = phrase.Cut(condition.Message, phrase.MaxMessage)
	condition.ObservedGeneration, condition.LastTransitionTime = p.in.AddOn.Generation, metav1.NewTime(p.in.Now.Truncate(time.Second))
	meta.SetStatusCondition(&out.Conditions, condition)
	return out
}

// counts are the clusters that follow a placement, by how far they are.
type counts struct {
	total, succeeded, leftOut int
	// failures, omissions and delays name the first clusters that failed, that are left out, or whose write is sent again.
	failures, omissions, delays []string
}

func (p *planner) count(placement int) counts {
	out := counts{}
	for _, c := range p.clusters {
		if !c.follows(placement) {
			continue
		}
		named := fmt.Sprintf("%s (%s)", c.name, phrase.Cut(p.reason(c), phrase.MaxFailure))
		out.total++
		switch {
		case c.state == rollout.StateSucceeded:
			out.succeeded++
		case c.state == rollout.StateSkip:
			out.leftOut++
			out.omissions = append(out.omissions, named)
		case c.state == rollout.StateFailed || c.verdict.Code == rollout.TimedOut:
			out.failures = append(out.failures, named)
		case (c.fault != nil || c.formerFault != nil) && c.state == rollout.StateToApply:
			out.delays = append(out.delays, named)
		}
	}
	return out
}

// progressOf returns the progress of one configuration. What was reached stays on record until all clusters have reached the next.
func (s *placementState) progressOf(w want, before *addonv1alpha1.InstallProgression, counts counts) addonv1alpha1.InstallConfigReference {
	out := addonv1alpha1.InstallConfigReference{ConfigGroupResource: w.ConfigGroupResource}
	if former := formerProgress(w, before); former != nil {
		out = *former.DeepCopy()
	}
	if w.SpecHash == "" {
		return out
	}
	out.DesiredConfig = &w.ConfigSpecHash
	ended := s.finished() && s.reading == reading.Decided && s.step.Phase == rollout.PhaseFinished && counts.total > 0 && counts.leftOut == 0
	if ended {
		out.LastAppliedConfig = w.ConfigSpecHash.DeepCopy()
	}
	if ended && counts.succeeded == counts.total {
		out.LastKnownGoodConfig = w.ConfigSpecHash.DeepCopy()
	}
	return out
}

// formerProgress returns the stored progress of a configuration: of the same object, else of the only one of the same kind.
func formerProgress(w want, before *addonv1alpha1.InstallProgression) *addonv1alpha1.InstallConfigReference {
	if before == nil {
		return nil
	}
	var same []*addonv1alpha1.InstallConfigReference
	for i := range before.ConfigReferences {
		found := &before.ConfigReferences[i]
		if found.ConfigGroupResource != w.ConfigGroupResource {
			continue
		}
		if found.DesiredConfig != nil && found.DesiredConfig.ConfigReferent == w.ConfigReferent {
			return found
		}
		same = append(same, found)
	}
	if len(same) == 1 {
		return same[0]
	}
	return nil
}

// progressing returns the condition of the rollout over a placement.
func (p *planner) progressing(placement int, counts counts) metav1.Condition {
	s := &p.placements[placement]
	out := metav1.Condition{
		Type: addonv1alpha1.ManagedClusterAddOnConditionProgressing, Status: metav1.ConditionFalse,
		Reason: string(s.step.Phase),
	}
	switch {
	case s.reading == reading.Missing:
		out.Reason = string(rollout.PhaseUndecided)
	case (s.step.Phase == rollout.PhaseFinished || s.step.Phase == rollout.PhaseEmpty) && counts.leftOut > 0:
		out.Reason = string(rollout.PhaseMisconfigured)
	case s.step.Phase == rollout.PhaseFinished && !s.finished():
		out.Status, out.Reason = metav1.ConditionTrue, addonv1alpha1.ProgressingReasonProgressing
	case s.step.Phase == rollout.PhaseFinished || s.step.Phase == rollout.PhaseEmpty:
		out.Reason = addonv1alpha1.ProgressingReasonCompleted
	case s.step.Phase == rollout.PhaseBreached:
		out.Reason = addonv1alpha1.ProgressingReasonFailed
	case slices.Contains([]rollout.Phase{
		rollout.PhaseMissing, rollout.PhaseAdvancing, rollout.PhaseWaiting, rollout.PhaseSoaking,
	}, s.step.Phase):
		out.Status, out.Reason = metav1.ConditionTrue, addonv1alpha1.ProgressingReasonProgressing
	}
	parts := []string{s.message()}
	if len(counts.failures) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s failed: %s", len(counts.failures), phrase.Count(counts.total, "cluster"),
			phrase.Join(counts.failures, phrase.MaxNames)))
	}
	if len(counts.delays) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s not written yet: %s", len(counts.delays), phrase.Count(counts.total, "cluster"),
			phrase.Join(counts.delays, phrase.MaxNames)))
	}
	if counts.leftOut > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s left out: %s", counts.leftOut, phrase.Count(counts.total, "cluster"),
			phrase.Join(counts.omissions, phrase.MaxNames)))
	}
	if p.waiting > 0 {
		parts = append(parts, phrase.Count(p.waiting, "cluster")+" selected by no placement still to lose the add-on, a tenth of the "+
			"installed ones each minute"+p.refusedRemovals())
	}
	out.Message = strings.Join(parts, "; ")
	return out
}

// refusedRemovals names the first clusters that the API server does not let lose the add-on; empty without any.
func (p *planner) refusedRemovals() string {
	var refused []string
	for _, c := range p.clusters {
		if c.fault != nil && p.leaves(c) {
			refused = append(refused, fmt.Sprintf("%s (%s)", c.name, phrase.Cut(c.fault.Message, phrase.MaxFailure)))
		}
	}
	if len(refused) == 0 {
		return ""
	}
	return "; not removed: " + phrase.Join(refused, phrase.MaxNames)
}

// reason returns why a cluster has not succeeded; empty for a cluster that has.
func (p *planner) reason(c *cluster) string {
	switch {
	case c.state == rollout.StateSucceeded:
		return ""
	case c.gone:
		return "the cluster does not exist or is being deleted"
	case c.disabled && c.addOn == nil:
		return "its annotation " + addonv1alpha1.DisableInstallationAnnotation + " keeps out what placements install"
	case c.state == rollout.StateSkip:
		return "it keeps what it has: " + c.obstacle
	case c.fault != nil && c.state != rollout.StateProgressing:
		return "the API server refused the write: " + c.fault.Message
	case c.formerFault != nil && c.addOn == nil:
		return "the API server refused the add-on with the former configurations: " + c.formerFault.Message
	case c.verdict.Code == rollout.TimedOut:
		return "the deadline has passed"
	case c.state == rollout.StateFailed:
		return failureOf(c.addOn)
	case c.placement == noPlacement || c.waits:
		return ""
	case p.placements[c.placement].frozen && c.state == rollout.StateToApply:
		return p.placements[c.placement].cause
	default:
		return p.placements[c.placement].step.Explain(c.verdict)
	}
}

// failureOf returns the message of the condition with the failure.
func failureOf(addOn *addonv1alpha1.ManagedClusterAddOn) string {
	_, condition := reportedState(addOn)
	if condition == nil {
		return "the add-on failed"
	}
	return condition.Type + ": " + condition.Message
}

// verdicts returns the verdict of every cluster that is selected or has the add-on.
func (p *planner) verdicts() []Verdict {
	out := make([]Verdict, 0, len(p.clusters))
	for _, c := range p.clusters {
		verdict := Verdict{
			Cluster: c.name, Group: c.verdict.Group, Code: c.verdict.Code, State: c.state, Since: c.since, Wants: referencesTo(c.wants, nil),
			Message: p.reason(c),
		}
		switch {
		case c.placement != noPlacement && c.follows(c.placement):
			verdict.Placement = p.placements[c.placement].key
		case c.waits, c.addOn != nil && p.byPlacements() && !p.allComplete() && Controls(p.in.AddOn, c.addOn):
			verdict.Code = rollout.WaitsForDecision
		case !c.gone && p.leaves(c):
			verdict.Code = rollout.Left
		}
		out = append(out, verdict)
	}
	return out
}
