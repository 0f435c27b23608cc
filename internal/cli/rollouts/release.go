package rollouts

import (
	"fmt"
	"slices"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
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

// PassUnproven returns the approval that passes the mandatory group which holds the rollout of a set: the first that has not been passed. It is
// an error where groups of several placements have not been passed, since they may be under way.
func PassUnproven(set *workv1alpha1.ManifestWorkReplicaSet, reason string) (rolloutv1alpha1.GroupApproval, error) {
	revision, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		return rolloutv1alpha1.GroupApproval{}, fmt.Errorf("hashing the template of the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	var open []rolloutv1alpha1.GroupApproval
	if record := set.Status.Rollout; record != nil {
		for _, placement := range record.Placements {
			first := slices.IndexFunc(placement.Gates, func(gate clusterv1alpha1.GateRecord) bool { return gate.Passed == "" })
			if first < 0 {
				continue
			}
			group := placement.Gates[first].MandatoryDecisionGroup
			if name := placement.Gates[first].Resolved; name != "" {
				group = clusterv1alpha1.MandatoryDecisionGroup{GroupName: name}
			}
			open = append(open, rolloutv1alpha1.GroupApproval{
				MandatoryDecisionGroup: group, Placement: placement.Name, Revision: revision, For: rolloutv1alpha1.ApprovalProof, Reason: reason,
			})
		}
	}
	if len(open) != 1 {
		return rolloutv1alpha1.GroupApproval{}, fmt.Errorf("%d placements of the set %s/%s have a mandatory group that is not passed: "+
			"name the group with `kubectl berth rollout approve %s -n %s --placement PLACEMENT --group GROUP`",
			len(open), set.Namespace, set.Name, set.Name, set.Namespace)
	}
	return open[0], nil
}
