package report

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/rollout"
)

// Holds returns what is held back of a set, by its status.
func Holds(set *workv1alpha1.ManifestWorkReplicaSet) []hold.Hold {
	condition := meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.Progressing)
	if condition == nil || condition.Status != metav1.ConditionFalse {
		return nil
	}
	out := hold.Hold{
		Kind: "ManifestWorkReplicaSet", Namespace: set.Namespace, Name: set.Name,
		Cause: condition.Message, Since: &condition.LastTransitionTime,
	}
	switch rollout.Phase(condition.Reason) {
	case rollout.PhaseBreached:
		out.Type = hold.Breach
	case rollout.PhaseUnproven:
		out.Type = hold.UnprovenGroup
	default:
		return nil
	}
	out.End = out.ReleaseCommand()
	if set.Status.AbortedTime != nil {
		out.End = "another template: the rollout was aborted, and its clusters have returned"
	}
	return []hold.Hold{out}
}
