package placement

import (
	"slices"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

// The outcomes of an evaluation.
const (
	outcomeUnchanged = "unchanged"
	outcomeChanged   = "changed"
	outcomeKept      = "kept"
	outcomeFailed    = "failed"
)

func outcomes() []string {
	return []string{outcomeUnchanged, outcomeChanged, outcomeKept, outcomeFailed}
}

// WriteResult is the result of a write.
type WriteResult string

// The results. After Superseded the placement is decided again; it is no failure.
const (
	WriteStored   WriteResult = "stored"
	WriteConflict WriteResult = "conflict"
	WriteFailed   WriteResult = "failed"
)

func results() []string {
	return []string{string(WriteStored), string(WriteConflict), string(WriteFailed)}
}

// The changes of a cluster in the decisions.
const (
	added   = "added"
	removed = "removed"
	// restored clusters are selected again after another client deleted or emptied their PlacementDecision.
	restored = "restored"
	// regrouped clusters stay selected and move to another decision group.
	regrouped = "regrouped"
)

// The stages of an evaluation.
const (
	stageDecide = "decide"
	stagePlan   = "plan"
	stageWrite  = "write"
)

func stages() []string { return []string{stageDecide, stagePlan, stageWrite} }

// The kinds of objects that are written.
const (
	kindSlice     = "PlacementDecision"
	kindPlacement = "Placement"
)

func kindOf(verb plan.Verb) string {
	if verb == plan.UpdateBudget || verb == plan.UpdateStatus {
		return kindPlacement
	}
	return kindSlice
}

func verbs() []plan.Verb {
	return []plan.Verb{plan.UpdateBudget, plan.Create, plan.UpdateDecisions, plan.UpdateMetadata, plan.Delete, plan.UpdateStatus}
}

func verbNames() []string {
	var out []string
	for _, verb := range verbs() {
		out = append(out, verb.String())
	}
	return out
}

// causeOther stands for every other kind of cause.
const causeOther = "Other"

// causes are the kinds of objects whose change enqueues placements, the start of the manager, and a deadline.
func causes() []string {
	return []string{
		"ManagedCluster", "AddOnPlacementScore", "ManagedClusterSet", "ManagedClusterSetBinding", kindPlacement, kindSlice,
		"Manager", "Time", causeOther,
	}
}

// conditionReason is the type and the reason of a condition of a placement.
type conditionReason struct{ condition, reason string }

func conditionReasons() []conditionReason {
	return append(problemReasons(),
		conditionReason{clusterv1beta1.PlacementConditionSatisfied, clusterv1beta1.ReasonAllDecisionsScheduled},
		conditionReason{clusterv1beta1.PlacementConditionMisconfigured, clusterv1beta1.ReasonSucceedConfigured},
		conditionReason{clusterv1beta1.PlacementConditionHeld, clusterv1beta1.ReasonNothingHeld},
		conditionReason{clusterv1beta1.PlacementConditionScoresExpired, clusterv1beta1.ReasonScoresFresh},
		conditionReason{clusterv1beta1.PlacementConditionSpreadExceeded, clusterv1beta1.ReasonWithinMaxSkew},
	)
}

// problemReasons returns the conditions that report a problem.
func problemReasons() []conditionReason {
	return []conditionReason{
		{clusterv1beta1.PlacementConditionSatisfied, clusterv1beta1.ReasonNotAllDecisionsScheduled},
		{clusterv1beta1.PlacementConditionSatisfied, clusterv1beta1.ReasonNoManagedClusterSetBindings},
		{clusterv1beta1.PlacementConditionSatisfied, clusterv1beta1.ReasonNoIntersection},
		{clusterv1beta1.PlacementConditionSatisfied, clusterv1beta1.ReasonAllManagedClusterSetsEmpty},
		{clusterv1beta1.PlacementConditionSatisfied, clusterv1beta1.ReasonNoManagedClusterMatched},
		{clusterv1beta1.PlacementConditionMisconfigured, clusterv1beta1.ReasonMisconfigured},
		{clusterv1beta1.PlacementConditionMisconfigured, clusterv1beta1.ReasonUnknownReference},
		{clusterv1beta1.PlacementConditionMisconfigured, clusterv1beta1.ReasonReferenceHeld},
		{clusterv1beta1.PlacementConditionHeld, clusterv1beta1.ReasonBudgetSpent},
		{clusterv1beta1.PlacementConditionHeld, clusterv1beta1.ReasonBraked},
		{clusterv1beta1.PlacementConditionHeld, clusterv1beta1.ReasonDefinitionMissing},
		{clusterv1beta1.PlacementConditionEditHeld, clusterv1beta1.ReasonEmptiesPlacement},
		{clusterv1beta1.PlacementConditionExpressionHeld, clusterv1beta1.ReasonValueMissing},
		{clusterv1beta1.PlacementConditionScoresExpired, clusterv1beta1.ReasonScoresExpired},
		{clusterv1beta1.PlacementConditionSpreadExceeded, clusterv1beta1.ReasonMaxSkewExceeded},
	}
}

// conditionLabels returns the labels for the type and the reason of a condition.
func conditionLabels(of []conditionReason) []telemetry.Label {
	conditions, reasons := telemetry.Label{Name: "type"}, telemetry.Label{Name: "reason"}
	for _, r := range of {
		if !slices.Contains(conditions.Values, r.condition) {
			conditions.Values = append(conditions.Values, r.condition)
		}
		reasons.Values = append(reasons.Values, r.reason)
	}
	return []telemetry.Label{conditions, reasons}
}
