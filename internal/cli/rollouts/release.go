package rollouts

import (
	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
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

// PassUnproven returns the approvals that pass every mandatory group which has not been passed in the rollout of a set.
func PassUnproven(set *workv1alpha1.ManifestWorkReplicaSet, reason string) []rolloutv1alpha1.GroupApproval {
	record := set.Status.Rollout
	if record == nil {
		return nil
	}
	var out []rolloutv1alpha1.GroupApproval
	for _, placement := range record.Placements {
		for _, gate := range placement.Gates {
			if gate.Passed != "" {
				continue
			}
			group := gate.MandatoryDecisionGroup
			if gate.Resolved != "" {
				group = clusterv1alpha1.MandatoryDecisionGroup{GroupName: gate.Resolved}
			}
			out = append(out, rolloutv1alpha1.GroupApproval{
				MandatoryDecisionGroup: group, Placement: placement.Name, Revision: record.Revision, For: rolloutv1alpha1.ApprovalProof,
				Reason: reason,
			})
		}
	}
	return out
}
