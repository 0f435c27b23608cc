package delivery

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	"github.com/berth-project/berth/internal/kube/telemetry"
	"github.com/berth-project/berth/rollout"
)

// The reasons and the action of the events of what people decided about a rollout.
const (
	reasonRolloutPaused       = "RolloutPaused"
	reasonRolloutResumed      = "RolloutResumed"
	reasonGroupApproved       = "GroupApproved"
	reasonFailureForgiven     = "FailureForgiven"
	reasonReturnedAtOnce      = "ReturnedAtOnce"
	reasonStartsWithoutFormer = "StartsWithoutFormer"
	// reasonFinishesWithoutMissing: the rollout of the present template finishes without the clusters that are missing.
	reasonFinishesWithoutMissing = "FinishesWithoutMissing"

	// ActionDecided goes with each of them.
	ActionDecided = "Decided"
)

// maxDecisions bounds the events of one change of a RolloutControl.
const maxDecisions = 50

// decisionEvents returns the events of what people newly decided about a rollout: one for each pause, resume, approval, forgiven cluster,
// return and start without a way back. nil stands for no decision. Without verified, the users are not named: any client may have written
// their names.
func decisionEvents(before, after *rolloutv1alpha1.RolloutControlSpec, verified bool) []telemetry.Event {
	was, is := orEmpty(before), orEmpty(after)
	var out []telemetry.Event
	add := func(reason, by, why, format string, args ...any) {
		note := fmt.Sprintf(format, args...)
		if by != "" && verified {
			note += " by " + by
		}
		if why != "" {
			note += ": " + why
		}
		if len(out) < maxDecisions {
			out = append(out, telemetry.NewEvent(corev1.EventTypeNormal, reason, ActionDecided, "%s", note))
		}
	}
	switch {
	case is.Paused && !was.Paused:
		add(reasonRolloutPaused, is.PausedBy, is.PauseReason, "The rollout is paused")
	case !is.Paused && was.Paused:
		add(reasonRolloutResumed, is.PausedBy, is.PauseReason, "The rollout is resumed")
	}
	for _, one := range is.Approvals {
		if !slices.Contains(was.Approvals, one) {
			add(reasonGroupApproved, one.By, one.Reason, "The group with %s of Placement %s, which %s, is approved",
				rollout.Reference(one.MandatoryDecisionGroup), one.Placement, effectOf(one.For))
		}
	}
	for _, one := range is.Forgiven {
		if !slices.Contains(was.Forgiven, one) {
			add(reasonFailureForgiven, one.By, one.Reason, "The failure of cluster %s is forgiven", one.Cluster)
		}
	}
	if now := is.ReturnNow; isNew(was.ReturnNow, now) {
		add(reasonReturnedAtOnce, now.By, now.Reason, "The return to template %s at once is decided", now.Revision)
	}
	if now := is.WithoutMissing; isNew(was.WithoutMissing, now) {
		add(reasonFinishesWithoutMissing, now.By, now.Reason, "The end of the rollout of template %s without the missing clusters is decided",
			now.Revision)
	}
	if now := is.WithoutFormer; isNew(was.WithoutFormer, now) {
		add(reasonStartsWithoutFormer, now.By, now.Reason, "The start of template %s without a way back is decided", now.Revision)
	}
	return out
}

// isNew reports whether there is a decision that was not there before.
func isNew(before, after *rolloutv1alpha1.TemplateDecision) bool {
	return after != nil && (before == nil || *before != *after)
}

// effectOf returns what an approval does.
func effectOf(purpose rolloutv1alpha1.ApprovalPurpose) string {
	if purpose == rolloutv1alpha1.ApprovalProof {
		return "is passed without a proof"
	}
	return "may start now"
}

func orEmpty(spec *rolloutv1alpha1.RolloutControlSpec) *rolloutv1alpha1.RolloutControlSpec {
	if spec == nil {
		return &rolloutv1alpha1.RolloutControlSpec{}
	}
	return spec
}
