package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/ledger"
)

// statusUpdate returns the placement with the status of a result, and whether it differs from the stored status. The time of a
// condition changes only with its status. scored is set if the plan writes scores. Dropped fields are left out.
func statusUpdate(
	result *engine.Result, stored *clusterv1beta1.Placement, now time.Time, scored bool, dropped Dropped,
) (reported *clusterv1beta1.Placement, due bool) {
	out := stored.DeepCopy()
	out.Status.NumberOfSelectedClusters = int32(result.Selected) //nolint:gosec // bounded by the number of clusters
	out.Status.DecisionGroups = groups(result, stored.Name)
	if result.Decided {
		out.Status.NumberOfReluctantClusters = int32(result.Penalized) //nolint:gosec // as above
		out.Status.Disruption, out.Status.Failback = disruption(result.Ledger, nil, sinceList(result.Ledger.Held)), failback(result.Ledger)
	}
	if scored {
		at := metav1.NewTime(ledger.RoundUp(now))
		out.Status.LastScoreUpdateTime = &at
	}
	for _, condition := range Conditions(result, stored) {
		setCondition(&out.Status.Conditions, condition, observedGeneration(result, condition, stored), now)
	}
	if result.EditHeld.Type == "" {
		meta.RemoveStatusCondition(&out.Status.Conditions, clusterv1beta1.PlacementConditionEditHeld)
	}
	if result.Decided && result.ExpressionHeld.Type == "" {
		meta.RemoveStatusCondition(&out.Status.Conditions, clusterv1beta1.PlacementConditionExpressionHeld)
	}
	if result.Decided && result.Held.Type == "" || !result.Decided && heldByOthers(stored) {
		meta.RemoveStatusCondition(&out.Status.Conditions, clusterv1beta1.PlacementConditionHeld)
	}
	dropped.placement(&out.Status)
	return out, !equality.Semantic.DeepEqual(out.Status, stored.Status)
}

// heldByOthers reports whether PlacementHeld is stored for a brake or a missing definition. While nothing is decided, it is not known
// whether that is still so.
func heldByOthers(stored *clusterv1beta1.Placement) bool {
	found := meta.FindStatusCondition(stored.Status.Conditions, clusterv1beta1.PlacementConditionHeld)
	return found != nil && (found.Reason == clusterv1beta1.ReasonBraked || found.Reason == clusterv1beta1.ReasonDefinitionMissing)
}

// Conditions returns the conditions that a result sets on a stored placement. ScoresExpired and SpreadExceeded are set
// to False only if the placement has them.
func Conditions(result *engine.Result, stored *clusterv1beta1.Placement) []engine.Condition {
	has := func(c engine.Condition) bool {
		return meta.FindStatusCondition(stored.Status.Conditions, c.Type) != nil
	}
	var out []engine.Condition
	if result.Decided || !has(result.Satisfied) {
		out = append(out, result.Satisfied)
	}
	out = append(out, result.Misconfigured)
	if result.EditHeld.Type != "" {
		out = append(out, result.EditHeld)
	}
	if result.ExpressionHeld.Type != "" {
		out = append(out, result.ExpressionHeld)
	}
	if !result.Decided {
		return out
	}
	if result.Held.Type != "" {
		out = append(out, result.Held)
	}
	for _, condition := range []engine.Condition{result.ScoresExpired, result.SpreadExceeded} {
		if condition.Status == metav1.ConditionTrue || has(condition) {
			out = append(out, condition)
		}
	}
	return out
}

// observedGeneration returns the generation of a condition. It is 0 for PlacementSatisfied without a decision: ReadLedger reads
// from it whether the spec was decided.
func observedGeneration(result *engine.Result, c engine.Condition, stored *clusterv1beta1.Placement) int64 {
	if !result.Decided && c.Type == clusterv1beta1.PlacementConditionSatisfied {
		return 0
	}
	return stored.Generation
}

func setCondition(in *[]metav1.Condition, c engine.Condition, generation int64, now time.Time) {
	meta.SetStatusCondition(in, metav1.Condition{
		Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	})
}

func groups(result *engine.Result, placement string) []clusterv1beta1.DecisionGroupStatus {
	out := make([]clusterv1beta1.DecisionGroupStatus, 0, len(result.Groups))
	for index, group := range result.Groups {
		status := clusterv1beta1.DecisionGroupStatus{
			DecisionGroupIndex: int32(index),
			DecisionGroupName:  group.Name,
			ClustersCount:      int32(group.Size()), //nolint:gosec // bounded by the number of clusters
		}
		for _, slice := range group.Slices {
			status.Decisions = append(status.Decisions, SliceName(placement, slice.Number))
		}
		out = append(out, status)
	}
	return out
}
