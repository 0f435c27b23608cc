package v1beta1

import (
	"strconv"
	"time"
)

// Labels of a PlacementDecision.
const (
	// PlacementLabel holds the name of the placement.
	PlacementLabel = "cluster.open-cluster-management.io/placement"
	// DecisionGroupIndexLabel holds the index of the group in decimal.
	DecisionGroupIndexLabel = "cluster.open-cluster-management.io/decision-group-index"
	// DecisionGroupNameLabel holds the name of the group; it is present, and empty, for a group without a name.
	DecisionGroupNameLabel = "cluster.open-cluster-management.io/decision-group-name"
)

const (
	// DecisionStrategyAnnotation holds on every PlacementDecision the hash of the group strategy that its clusters were divided
	// by. While the hashes of one placement differ, its clusters are being divided again.
	DecisionStrategyAnnotation = "berth-project.io/decision-strategy-hash"
	// DeprecatedDecisionStrategyAnnotation is the previous key of DecisionStrategyAnnotation.
	DeprecatedDecisionStrategyAnnotation = "cluster.open-cluster-management.io/decision-strategy-hash"
)

// DecisionStrategyHash returns the hash of the group strategy of a PlacementDecision; empty if Berth did not write it. The
// deprecated key takes precedence: Berth removes it with each write of the new key, so that a release that reads only the
// deprecated key wrote it last.
func DecisionStrategyHash(decision *PlacementDecision) string {
	if hash, ok := decision.Annotations[DeprecatedDecisionStrategyAnnotation]; ok {
		return hash
	}
	return decision.Annotations[DecisionStrategyAnnotation]
}

// PlacementDisableAnnotation with value "true" on a Placement freezes its decisions and status: they are neither computed
// nor written nor removed, so that another scheduler may own them.
const PlacementDisableAnnotation = "cluster.open-cluster-management.io/experimental-scheduling-disable"

// Types of the conditions of a Placement.
const (
	// PlacementConditionSatisfied is True while as many clusters are selected as are wanted.
	PlacementConditionSatisfied = "PlacementSatisfied"
	// PlacementConditionMisconfigured is True while the spec cannot be followed.
	PlacementConditionMisconfigured = "PlacementMisconfigured"
	// PlacementConditionHeld is True while clusters that would be dropped stay selected, since spec.disruptionPolicy does
	// not let them go yet. A placement without such a policy does not have it.
	PlacementConditionHeld = "PlacementHeld"
	// PlacementConditionScoresExpired is True while scores that the placement ranks by are out of date and count as 0. A
	// placement gets it with the first such score.
	PlacementConditionScoresExpired = "PlacementScoresExpired"
	// PlacementConditionEditHeld is True while an edit that would leave the placement without clusters is not followed. A placement without
	// such an edit does not have it.
	PlacementConditionEditHeld = "EditHeld"
	// PlacementConditionExpressionHeld is True while selected clusters stay although an expression fails on them, because a claim or score
	// is missing. A placement without such clusters does not have it.
	PlacementConditionExpressionHeld = "ExpressionHeld"
	// PlacementConditionSpreadExceeded is True while domains have more selected clusters than a DoNotSchedule constraint
	// permits, since a domain appeared, returned or grew. A placement gets it with the first such domain.
	PlacementConditionSpreadExceeded = "SpreadExceeded"
)

// Annotations by which a user confirms an edit that leaves a Placement without clusters.
const (
	// ConfirmedGenerationAnnotation has the generation of the spec that is confirmed, as Confirmation returns it, or the number alone.
	ConfirmedGenerationAnnotation = "berth-project.io/confirmed-generation"
	// ConfirmedReasonAnnotation has the reason of the user who confirmed it.
	ConfirmedReasonAnnotation = "berth-project.io/confirmed-reason"
	// ConfirmEmptyAnnotation with value "true" confirms every spec, so that it can be set by the write that changes the spec.
	ConfirmEmptyAnnotation = "berth-project.io/confirm-empty"
)

// EmptyingConfirmed reports whether a user has confirmed that the spec of a placement may leave it without clusters.
func EmptyingConfirmed(placement *Placement) bool {
	return placement.Annotations[ConfirmEmptyAnnotation] == "true" ||
		confirms(placement, ConfirmedGenerationAnnotation)
}

// Confirmation returns the value of an annotation that confirms the present spec of a placement: its generation, and its UID. A placement
// that is made anew with the annotation counts its generations from 1 again, and its later edits are not confirmed.
func Confirmation(placement *Placement) string {
	return strconv.FormatInt(placement.Generation, 10) + "/" + string(placement.UID)
}

// confirms reports whether an annotation confirms the present spec of a placement.
func confirms(placement *Placement, annotation string) bool {
	value := placement.Annotations[annotation]
	return value == Confirmation(placement) || value == strconv.FormatInt(placement.Generation, 10)
}

// Annotations by which a user lets clusters leave on which an expression fails.
const (
	// ExpressionsReleasedAnnotation has an instant as RFC 3339: clusters on which an expression has failed since then or earlier leave. An
	// instant that is more than five minutes ahead of the clock of the manager has no effect.
	ExpressionsReleasedAnnotation = "berth-project.io/expressions-released"
	// ExpressionsReleasedReasonAnnotation has the reason of the user.
	ExpressionsReleasedReasonAnnotation = "berth-project.io/expressions-released-reason"
)

// ExpressionsReleased returns until when an expression must have begun to fail on a cluster so that the cluster leaves; zero if no user has
// released any.
func ExpressionsReleased(placement *Placement) time.Time {
	at, err := time.Parse(time.RFC3339, placement.Annotations[ExpressionsReleasedAnnotation])
	if err != nil {
		return time.Time{}
	}
	return at
}

// Annotations by which a user lets an edit be followed that names what no cluster has.
const (
	// ConfirmedReferencesAnnotation has the generation of the spec that is confirmed, as ConfirmedGenerationAnnotation.
	ConfirmedReferencesAnnotation = "berth-project.io/confirmed-references"
	// ConfirmedReferencesReasonAnnotation has the reason of the user.
	ConfirmedReferencesReasonAnnotation = "berth-project.io/confirmed-references-reason"
)

// ReferencesConfirmed reports whether a user has confirmed that the spec of a placement may name what no cluster has.
func ReferencesConfirmed(placement *Placement) bool {
	return confirms(placement, ConfirmedReferencesAnnotation)
}

// ReasonValueMissing goes with ExpressionHeld=True.
const ReasonValueMissing = "ValueMissing"

// ReasonEmptiesPlacement goes with EditHeld=True.
const ReasonEmptiesPlacement = "EmptiesPlacement"

// Reasons on PlacementSatisfied, the first that applies.
const (
	// ReasonNoManagedClusterSetBindings means that no existing set is bound to the namespace.
	ReasonNoManagedClusterSetBindings = "NoManagedClusterSetBindings"
	// ReasonNoIntersection means that none of the sets in the spec is bound to the namespace.
	ReasonNoIntersection = "NoIntersection"
	// ReasonAllManagedClusterSetsEmpty means that the sets to choose from have no members.
	ReasonAllManagedClusterSetsEmpty = "AllManagedClusterSetsEmpty"
	// ReasonNoManagedClusterMatched means that no cluster qualifies.
	ReasonNoManagedClusterMatched = "NoManagedClusterMatched"
	// ReasonAllDecisionsScheduled goes with PlacementSatisfied=True.
	ReasonAllDecisionsScheduled = "AllDecisionsScheduled"
	// ReasonNotAllDecisionsScheduled means that fewer clusters are selected than are wanted, or that deciding failed.
	ReasonNotAllDecisionsScheduled = "NotAllDecisionsScheduled"
)

// Reasons on PlacementHeld.
const (
	// ReasonBudgetSpent goes with PlacementHeld=True.
	ReasonBudgetSpent = "DisruptionBudgetSpent"
	// ReasonBraked goes with PlacementHeld=True if a brake keeps clusters, whether the budget holds others or not.
	ReasonBraked = "Braked"
	// ReasonDefinitionMissing goes with PlacementHeld=True while a definition of the hub, or what went with it, is missing: nothing is
	// decided.
	ReasonDefinitionMissing = "DefinitionMissing"
	// ReasonNothingHeld goes with PlacementHeld=False.
	ReasonNothingHeld = "NothingHeld"
)

// Reasons on PlacementScoresExpired.
const (
	// ReasonScoresExpired goes with PlacementScoresExpired=True.
	ReasonScoresExpired = "ScoresExpired"
	// ReasonScoresFresh goes with PlacementScoresExpired=False.
	ReasonScoresFresh = "ScoresFresh"
)

// Reasons on SpreadExceeded.
const (
	// ReasonMaxSkewExceeded goes with SpreadExceeded=True.
	ReasonMaxSkewExceeded = "MaxSkewExceeded"
	// ReasonWithinMaxSkew goes with SpreadExceeded=False.
	ReasonWithinMaxSkew = "WithinMaxSkew"
)

// Reasons on PlacementMisconfigured.
const (
	// ReasonMisconfigured goes with PlacementMisconfigured=True.
	ReasonMisconfigured = "Misconfigured"
	// ReasonUnknownReference goes with PlacementMisconfigured=True where the spec names a set, key, name or score that no cluster in reach
	// has, and is followed all the same.
	ReasonUnknownReference = "UnknownReference"
	// ReasonReferenceHeld goes with PlacementMisconfigured=True where selected clusters would leave for that, and stay.
	ReasonReferenceHeld = "ReferenceHeld"
	// ReasonSucceedConfigured goes with PlacementMisconfigured=False. The spelling is what existing readers expect.
	ReasonSucceedConfigured = "Succeedconfigured"
)
