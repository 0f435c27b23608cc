package telemetry

import (
	"slices"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/plan"
)

// Outcome says how an evaluation ended.
type Outcome string

// The outcomes.
const (
	Unchanged Outcome = "unchanged"
	Changed   Outcome = "changed"
	Kept      Outcome = "kept"
	Failed    Outcome = "failed"
)

func outcomes() []string {
	return []string{string(Unchanged), string(Changed), string(Kept), string(Failed)}
}

// WriteResult says what became of a write.
type WriteResult string

// The results. A write is superseded where somebody else wrote in between: it is decided again, and nothing is wrong.
const (
	WriteStored   WriteResult = "stored"
	WriteConflict WriteResult = "superseded"
	WriteFailed   WriteResult = "failed"
)

func results() []string {
	return []string{string(WriteStored), string(WriteConflict), string(WriteFailed)}
}

// What happens to a cluster, or to a taint.
const (
	added   = "added"
	removed = "removed"
	// restored is a cluster whose PlacementDecision another client deleted.
	restored = "restored"
	// regrouped is a cluster that stays selected and had to change its group.
	regrouped = "regrouped"
)

// The stages of an evaluation.
const (
	stageDecide = "decide"
	stagePlan   = "plan"
	stageWrite  = "write"
)

func stages() []string { return []string{stageDecide, stagePlan, stageWrite} }

// The kinds that are written.
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

// causeOther is the cause of whatever has none of the kinds.
const causeOther = "Other"

// causes are the kinds of what wakes placements: of objects, a manager that starts, time that passes.
func causes() []string {
	return []string{
		"ManagedCluster", "AddOnPlacementScore", "ManagedClusterSet", "ManagedClusterSetBinding", kindPlacement, kindSlice,
		"Manager", "Time", causeOther,
	}
}

// conditionReason is a condition that a placement can have, with a reason.
type conditionReason struct{ condition, reason string }

func conditionReasons() []conditionReason {
	return append(problemReasons(),
		conditionReason{clusterv1beta1.PlacementConditionSatisfied, clusterv1beta1.ReasonAllDecisionsScheduled},
		conditionReason{clusterv1beta1.PlacementConditionMisconfigured, clusterv1beta1.ReasonSucceedConfigured},
		conditionReason{clusterv1beta1.PlacementConditionHeld, clusterv1beta1.ReasonNothingHeld},
		conditionReason{clusterv1beta1.PlacementConditionScoresExpired, clusterv1beta1.ReasonScoresFresh},
	)
}

// problemReasons are the conditions that report a problem.
func problemReasons() []conditionReason {
	return []conditionReason{
		{clusterv1beta1.PlacementConditionSatisfied, clusterv1beta1.ReasonNotAllDecisionsScheduled},
		{clusterv1beta1.PlacementConditionSatisfied, clusterv1beta1.ReasonNoManagedClusterSetBindings},
		{clusterv1beta1.PlacementConditionSatisfied, clusterv1beta1.ReasonNoIntersection},
		{clusterv1beta1.PlacementConditionSatisfied, clusterv1beta1.ReasonAllManagedClusterSetsEmpty},
		{clusterv1beta1.PlacementConditionSatisfied, clusterv1beta1.ReasonNoManagedClusterMatched},
		{clusterv1beta1.PlacementConditionMisconfigured, clusterv1beta1.ReasonMisconfigured},
		{clusterv1beta1.PlacementConditionHeld, clusterv1beta1.ReasonBudgetSpent},
		{clusterv1beta1.PlacementConditionScoresExpired, clusterv1beta1.ReasonScoresExpired},
	}
}

// conditionLabels are the labels of what is told apart by a condition and its reason.
func conditionLabels(of []conditionReason) []Label {
	conditions, reasons := Label{Name: "type"}, Label{Name: "reason"}
	for _, r := range of {
		if !slices.Contains(conditions.Values, r.condition) {
			conditions.Values = append(conditions.Values, r.condition)
		}
		reasons.Values = append(reasons.Values, r.reason)
	}
	return []Label{conditions, reasons}
}
