package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1 "github.com/berth-project/berth/api/work/v1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/evidence"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/internal/kube/reading"
	"github.com/berth-project/berth/rollout"
)

// Reasons of the conditions of a set. The condition Progressing has the phase of the rollout as its reason, or ReasonDeleting.
const (
	ReasonAsExpected               = "AsExpected"
	ReasonNotAsExpected            = "NotAsExpected"
	ReasonProcessing               = "Processing"
	ReasonComplete                 = "Complete"
	ReasonProgressing              = "Progressing"
	ReasonPlacementDecisionMissing = "PlacementDecisionNotFound"
	ReasonPlacementDecisionEmpty   = "PlacementDecisionEmpty"
	ReasonDeleting                 = "Deleting"
	ReasonRunsNothing              = "RunsNothing"
)

// Reasons of the condition FormerTemplateUnkept.
const (
	// ReasonPresentUnkept is that the template that is rolled out is not stored.
	ReasonPresentUnkept = "PresentUnkept"
	// ReasonFormerUnkept is that the template of the last finished rollout is not stored, so that no other one starts.
	ReasonFormerUnkept = "FormerUnkept"
	// ReasonStartsWithoutFormer is that a person lets the present template start nevertheless.
	ReasonStartsWithoutFormer = "StartsWithoutFormer"
)

// status returns the status of the set.
func (p *planner) status() workv1alpha1.ManifestWorkReplicaSetStatus {
	out := *p.in.Set.Status.DeepCopy()
	out.UpdateRevision, out.AbortedTime, out.ControlGeneration = p.in.Hash, p.aborted, 0
	if p.in.Control != nil {
		out.ControlGeneration = p.in.Control.Generation
	}
	out.Summary, out.PlacementsSummary = workv1alpha1.ManifestWorkReplicaSetSummary{}, nil
	for i := range p.placements {
		s := &p.placements[i]
		counts, total := p.count(i)
		out.PlacementsSummary = append(out.PlacementsSummary, workv1alpha1.PlacementSummary{
			Name: s.name, Summary: counts,
			AvailableDecisionGroups: fmt.Sprintf("%d (%d / %d clusters applied)", s.doneGroups(p.byName), counts.Total, total),
		})
		add(&out.Summary, counts)
	}
	out.Rollout = p.record
	succeeded := p.inState(rollout.StateSucceeded)
	if p.record.FinishedTime != nil {
		out.CurrentRevision = p.in.Hash
	}
	for _, condition := range []metav1.Condition{
		p.verified(out.Summary), p.rolledOut(out.Summary, succeeded), p.applied(out.Summary), p.progressing(),
	} {
		setCondition(&out.Conditions, condition, p.in.Set.Generation, metav1.NewTime(p.in.Now))
	}
	if unserved, is := p.unserved(); is {
		setCondition(&out.Conditions, unserved, p.in.Set.Generation, metav1.NewTime(p.in.Now))
	} else {
		meta.RemoveStatusCondition(&out.Conditions, workv1alpha1.Served)
	}
	if unkept, is := p.unkept(out.CurrentRevision); is {
		setCondition(&out.Conditions, unkept, p.in.Set.Generation, metav1.NewTime(p.in.Now))
	} else {
		meta.RemoveStatusCondition(&out.Conditions, workv1alpha1.FormerTemplateUnkept)
	}
	return out
}

// setCondition sets a condition. Its time changes only with its status.
func setCondition(conditions *[]metav1.Condition, condition metav1.Condition, generation int64, now metav1.Time) {
	condition.ObservedGeneration, condition.LastTransitionTime = generation, now
	condition.Message = phrase.Cut(condition.Message, phrase.MaxMessage)
	meta.SetStatusCondition(conditions, condition)
}

// count counts the clusters under one placement. A cluster that stays for lack of a decision counts under the placement that it had,
// else under the first.
func (p *planner) count(placement int) (out workv1alpha1.ManifestWorkReplicaSetSummary, selected int) {
	for _, c := range p.clusters {
		if c.ruling() == placement {
			out.DesiredTotal++
		} else if c.ruling() != noPlacement || c.work == nil || p.formerPlacement(c) != placement {
			continue
		}
		if c.work == nil {
			continue
		}
		out.Total++
		if !c.work.DeletionTimestamp.IsZero() || !c.current() {
			continue
		}
		out.Updated++
		increment(&out.Applied, is(observed(c.work, workv1.WorkApplied), metav1.ConditionTrue))
		increment(&out.Available, is(observed(c.work, workv1.WorkAvailable), metav1.ConditionTrue))
		increment(&out.Progressing, c.state == rollout.StateProgressing)
		increment(&out.Degraded, c.state == rollout.StateFailed)
	}
	return out, out.DesiredTotal
}

// formerPlacement returns the position of the placement that ruled the cluster of a work.
func (p *planner) formerPlacement(c *cluster) int {
	return max(0, p.formerlyRuledBy(c))
}

func increment(count *int, when bool) {
	if when {
		*count++
	}
}

func add(to *workv1alpha1.ManifestWorkReplicaSetSummary, from workv1alpha1.ManifestWorkReplicaSetSummary) {
	to.DesiredTotal += from.DesiredTotal
	to.Total += from.Total
	to.Updated += from.Updated
	to.Applied += from.Applied
	to.Available += from.Available
	to.Progressing += from.Progressing
	to.Degraded += from.Degraded
}

// inState counts the selected clusters that have a state.
func (p *planner) inState(state rollout.State) int {
	out := 0
	for _, c := range p.clusters {
		increment(&out, c.ruling() != noPlacement && c.state == state)
	}
	return out
}

func (p *planner) verified(counts workv1alpha1.ManifestWorkReplicaSetSummary) metav1.Condition {
	out := metav1.Condition{Type: workv1alpha1.PlacementVerified, Status: metav1.ConditionFalse}
	var gone, open []string
	for i := range p.placements {
		switch s := &p.placements[i]; s.reading {
		case reading.Missing:
			gone = append(gone, s.name)
		case reading.Undecided, reading.Torn, reading.Partial:
			open = append(open, s.name)
		case reading.Decided:
		}
	}
	switch {
	case len(gone) > 0:
		out.Reason, out.Message = ReasonPlacementDecisionMissing, "there is no Placement "+phrase.Join(gone, phrase.MaxNames)+
			"; the works of its clusters stay"
	case len(open) > 0:
		out.Reason, out.Message = ReasonNotAsExpected, "no complete decision of Placement "+phrase.Join(open, phrase.MaxNames)+
			"; the works of its clusters stay"
	case counts.DesiredTotal == 0:
		out.Reason, out.Message = ReasonPlacementDecisionEmpty, "no cluster is selected"
	default:
		out.Status, out.Reason = metav1.ConditionTrue, ReasonAsExpected
		out.Message = phrase.Count(counts.DesiredTotal, "cluster") + " selected"
	}
	return out
}

func (p *planner) rolledOut(counts workv1alpha1.ManifestWorkReplicaSetSummary, succeeded int) metav1.Condition {
	out := metav1.Condition{Type: workv1alpha1.PlacementRolledOut, Status: metav1.ConditionFalse, Reason: ReasonProgressing}
	if counts.DesiredTotal == 0 {
		out.Message = "no cluster is selected"
		return out
	}
	out.Message = fmt.Sprintf("%d of %s succeeded", succeeded, phrase.Count(counts.DesiredTotal, "cluster"))
	if succeeded == counts.DesiredTotal {
		out.Status, out.Reason = metav1.ConditionTrue, ReasonComplete
	}
	out.Message = strings.Join(append([]string{out.Message}, p.lacking(counts.DesiredTotal)...), "; ")
	return out
}

func (p *planner) applied(counts workv1alpha1.ManifestWorkReplicaSetSummary) metav1.Condition {
	out := metav1.Condition{Type: workv1alpha1.ManifestworkApplied, Status: metav1.ConditionFalse}
	lacking := p.lacking(counts.DesiredTotal)
	switch {
	case counts.Total == 0 && counts.DesiredTotal == 0:
		out.Reason, out.Message = ReasonPlacementDecisionEmpty, "no cluster is selected"
	case len(lacking) > 0:
		out.Reason, out.Message = ReasonNotAsExpected, strings.Join(lacking, "; ")
	case counts.Available == counts.Total && counts.Total == counts.DesiredTotal && counts.Progressing == 0:
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, ReasonAsExpected, fmt.Sprintf("all %d works are available", counts.Total)
	default:
		out.Reason = ReasonProcessing
		out.Message = fmt.Sprintf("%d of %d works have the template, %d are available", counts.Updated, max(counts.Total, counts.DesiredTotal),
			counts.Available)
	}
	if reported := p.foreignWorks(); reported != "" {
		out.Message += "; " + reported
	}
	return out
}

// ForeignWorks begins the part of the message of the condition ManifestworkApplied that names works which are not of the set.
const ForeignWorks = "left alone, for they have the label of this set without its UID: "

// foreignWorks reports works that carry the label of the set and are not its own.
func (p *planner) foreignWorks() string {
	var names []string
	for _, c := range p.clusters {
		for _, work := range c.foreign {
			if work.DeletionTimestamp.IsZero() {
				names = append(names, work.Namespace+"/"+work.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ForeignWorks + phrase.Join(names, phrase.MaxNames)
}

// unserved returns the condition that reports the selected clusters without any template of the set. Is is false without any.
func (p *planner) unserved() (out metav1.Condition, is bool) {
	var names []string
	for _, c := range p.clusters {
		if p.runsNothing(c) {
			names = append(names, c.name)
		}
	}
	out = metav1.Condition{Type: workv1alpha1.Served, Status: metav1.ConditionFalse, Reason: ReasonRunsNothing}
	cause := "no template is kept whose rollout finished"
	if p.finished() != "" && p.changesOverrides() {
		cause = "the overrides have changed, and the former ones are not kept"
	}
	out.Message = fmt.Sprintf("nothing runs yet on %s of the selection, since %s: %s",
		phrase.Count(len(names), "cluster"), cause, phrase.Join(names, phrase.MaxNames))
	return out, len(names) > 0
}

// runsNothing reports whether a selected cluster waits for its turn and gets no earlier template meanwhile.
func (p *planner) runsNothing(c *cluster) bool {
	return c.ruling() != noPlacement && c.work == nil && evidence.Waits(c.verdict.Code) && !p.startsWithFormer(c)
}

// progressing returns the most urgent phase of the rollouts, and a sentence for each placement.
func (p *planner) progressing() metav1.Condition {
	out := metav1.Condition{Type: workv1alpha1.Progressing, Status: metav1.ConditionFalse, Reason: string(rollout.PhaseEmpty)}
	var sentences []string
	for i := range p.placements {
		s := &p.placements[i]
		if i == 0 || evidence.PhaseOrder(s.step.Phase, rollout.Phase(out.Reason)) < 0 {
			out.Reason = string(s.step.Phase)
		}
		text := s.message()
		if len(p.placements) > 1 {
			text = s.name + ": " + text
		}
		sentences = append(sentences, text)
	}
	switch rollout.Phase(out.Reason) {
	case rollout.PhaseAdvancing, rollout.PhaseWaiting, rollout.PhaseSoaking:
		out.Status = metav1.ConditionTrue
	default: // nothing moves by itself
	}
	out.Message = strings.Join(sentences, "; ")
	return out
}
