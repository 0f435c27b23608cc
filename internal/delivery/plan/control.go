package plan

import (
	"slices"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
)

// controlled returns a strategy with what people decided beside the set: a pause, and the groups of a placement that may start.
func (p *planner) controlled(placement string, strategy clusterv1alpha1.RolloutStrategy) clusterv1alpha1.RolloutStrategy {
	if p.in.Control == nil {
		return strategy
	}
	strategy.Paused = strategy.Paused || p.in.Control.Spec.Paused
	if strategy.Approval == nil {
		return strategy
	}
	approval := *strategy.Approval
	approval.Approved = slices.Clone(approval.Approved)
	for _, said := range p.in.Control.Spec.Approvals {
		if said.For == rolloutv1alpha1.ApprovalStart && said.Placement == placement && said.Revision == p.in.Hash {
			approval.Approved = append(approval.Approved, said.MandatoryDecisionGroup)
		}
	}
	strategy.Approval = &approval
	return strategy
}

// forgiven reports whether a person decided that the failure of a cluster with the present template does not count.
func (p *planner) forgiven(cluster string) bool {
	return p.in.Control != nil && slices.ContainsFunc(p.in.Control.Spec.Forgiven, func(said rolloutv1alpha1.ForgivenCluster) bool {
		return said.Cluster == cluster && said.Revision == p.in.Hash
	})
}

// passes reports whether a person passed a mandatory group for the present template.
func (p *planner) passes(placement string, group clusterv1alpha1.MandatoryDecisionGroup) bool {
	return p.in.Control != nil && slices.ContainsFunc(p.in.Control.Spec.Approvals, func(said rolloutv1alpha1.GroupApproval) bool {
		same := said.GroupName == group.GroupName && (group.GroupName != "" || said.GroupIndex == group.GroupIndex)
		return same && said.For == rolloutv1alpha1.ApprovalProof && said.Placement == placement && said.Revision == p.in.Hash
	})
}
