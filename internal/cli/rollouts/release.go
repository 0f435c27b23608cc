package rollouts

import (
	"fmt"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/hold"
)

// Counted returns the clusters whose failure counts in the rollout of a set, and how many more the status has no names of.
func Counted(set *workv1alpha1.ManifestWorkReplicaSet) (names []string, more int) {
	record := set.Status.Rollout
	if record == nil {
		return nil, 0
	}
	for _, entry := range record.Clusters {
		if entry.Phase == clusterv1alpha1.ClusterFailed || entry.Phase == clusterv1alpha1.ClusterLost {
			names = append(names, entry.Name)
		}
	}
	for _, placement := range record.Placements {
		for _, group := range placement.Groups {
			more += int(group.Failed + group.Lost)
		}
	}
	return names, max(0, more-len(names))
}

// PassHeld returns the approval that passes the mandatory group of a hold.
func PassHeld(set *workv1alpha1.ManifestWorkReplicaSet, held *hold.Hold, reason string) (rolloutv1alpha1.GroupApproval, error) {
	revision, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		return rolloutv1alpha1.GroupApproval{}, fmt.Errorf("hashing the template of the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	return rolloutv1alpha1.GroupApproval{
		MandatoryDecisionGroup: *held.Group, Placement: held.Placement, Revision: revision, For: rolloutv1alpha1.ApprovalProof, Reason: reason,
		StartedTime: plan.StartedTime(set.Status.Rollout, revision),
	}, nil
}
