package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
)

// report returns the placement with the status that the result gives it, and whether that differs from what is
// stored. The time of a condition moves only with its status.
func report(result *engine.Result, stored *clusterv1beta1.Placement, now time.Time) (*clusterv1beta1.Placement, bool) {
	out := stored.DeepCopy()
	out.Status.NumberOfSelectedClusters = int32(result.Selected) //nolint:gosec // bounded by the number of clusters
	out.Status.DecisionGroups = groups(result, stored.Name)
	if result.Decided {
		out.Status.Disruption, out.Status.Failback = disruption(result.Ledger), failback(result.Ledger)
	}
	conditions := []engine.Condition{result.Satisfied, result.Misconfigured}
	if !result.Decided && meta.FindStatusCondition(stored.Status.Conditions, result.Satisfied.Type) != nil {
		conditions = conditions[1:]
	}
	for _, condition := range conditions {
		setCondition(&out.Status.Conditions, condition, stored.Generation, now)
	}
	return out, !equality.Semantic.DeepEqual(out.Status, stored.Status)
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
