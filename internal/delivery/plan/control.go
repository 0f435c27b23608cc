package plan

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	"github.com/berth-project/berth/decision"
)

// controlled returns a strategy with what people decided beside the set: a pause, and the groups of a placement that may start. An index is
// for a group without a name: another group may have it later.
func (p *planner) controlled(of *placementState, strategy clusterv1alpha1.RolloutStrategy) clusterv1alpha1.RolloutStrategy {
	if p.in.Control == nil {
		return strategy
	}
	if ReturnsNow(p.in) {
		return clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.All, All: &clusterv1alpha1.RolloutAll{
			RolloutConfig: clusterv1alpha1.RolloutConfig{MaxFailures: intstr.FromString("100%")},
		}}
	}
	strategy.Paused = strategy.Paused || p.in.Control.Spec.Paused
	if strategy.Approval == nil {
		return strategy
	}
	approval := *strategy.Approval
	approval.Approved = slices.Clone(approval.Approved)
	for _, said := range p.in.Control.Spec.Approvals {
		counts := said.For == rolloutv1alpha1.ApprovalStart && said.Placement == of.name && p.counts(said.Revision, said.StartedTime)
		if counts && (said.GroupName != "" || of.unnamed(said.GroupIndex)) {
			approval.Approved = append(approval.Approved, said.MandatoryDecisionGroup)
		}
	}
	strategy.Approval = &approval
	return strategy
}

// ReturnsNow reports whether a person lets all clusters return to the present template at once. It takes a template that has finished
// before, with the same overrides: who decides on a rollout may not send anything new past its pace.
func ReturnsNow(in Input) bool {
	return in.Control != nil && in.Control.Spec.ReturnNow != nil && in.Control.Spec.ReturnNow.Revision == in.Hash && in.FinishedBefore &&
		!RollsOutOverrides(in.Set, in.Hash) && !HasReturned(in.Control, in.Set.Status.Rollout)
}

// HasReturned reports whether a decision to return at once is on record as ended. Both may be nil.
func HasReturned(control *rolloutv1alpha1.RolloutControl, record *clusterv1alpha1.RolloutRecord) bool {
	return control != nil && control.Spec.ReturnNow != nil && record != nil && record.Returned != nil &&
		record.Returned.Time.Equal(control.Spec.ReturnNow.Time.Time)
}

// endReturn puts the decision to return at once on record as ended: every cluster has the template, or the set has another one since.
func (p *planner) endReturn() {
	before := p.in.Set.Status.Rollout
	if before != nil {
		p.record.Returned = before.Returned
	}
	if p.in.Control == nil || p.in.Control.Spec.ReturnNow == nil {
		return
	}
	to := p.in.Control.Spec.ReturnNow
	replaced := before != nil && p.in.Hash != to.Revision && templateOf(before.Revision) == to.Revision
	if replaced || ReturnsNow(p.in) && p.record.FinishedTime != nil {
		p.record.Returned = new(metav1.NewMicroTime(to.Time.Time))
	}
}

// templateOf returns the hash of the template that a revision of a rollout begins with.
func templateOf(revision string) string {
	template, _, _ := strings.Cut(revision, "-")
	return template
}

// counts reports whether a decision is about the rollout of the present template.
func (p *planner) counts(revision string, started *metav1.MicroTime) bool {
	return revision == p.in.Hash && Concerns(p.in.Set.Status.Rollout, p.in.Hash, started)
}

// Concerns reports whether a decision with the start of a rollout is about that of a template. A decision without a start is about each.
func Concerns(record *clusterv1alpha1.RolloutRecord, template string, started *metav1.MicroTime) bool {
	return started == nil || record != nil && templateOf(record.Revision) == template && record.StartedTime.Equal(started)
}

// StartedTime returns the start of the rollout of a template, for a decision about it; nil before it is on record.
func StartedTime(record *clusterv1alpha1.RolloutRecord, template string) *metav1.MicroTime {
	if record == nil || templateOf(record.Revision) != template {
		return nil
	}
	return record.StartedTime.DeepCopy()
}

// forgiven reports whether a person decided that the failure of a cluster with the present template does not count.
func (p *planner) forgiven(cluster string) bool {
	return p.in.Control != nil && slices.ContainsFunc(p.in.Control.Spec.Forgiven, func(said rolloutv1alpha1.ForgivenCluster) bool {
		return said.Cluster == cluster && p.counts(said.Revision, said.StartedTime)
	})
}

// passes reports whether a person passed a mandatory group for the present template.
func (p *planner) passes(placement string, group clusterv1alpha1.MandatoryDecisionGroup) bool {
	return p.in.Control != nil && slices.ContainsFunc(p.in.Control.Spec.Approvals, func(said rolloutv1alpha1.GroupApproval) bool {
		same := said.GroupName == group.GroupName && (group.GroupName != "" || said.GroupIndex == group.GroupIndex)
		return same && said.For == rolloutv1alpha1.ApprovalProof && said.Placement == placement && p.counts(said.Revision, said.StartedTime)
	})
}

// unnamed reports whether the group of an index has no name.
func (s *placementState) unnamed(index int32) bool {
	return !slices.ContainsFunc(s.Decisions.Groups(), func(group decision.Group) bool { return group.Index == int(index) && group.Name != "" })
}
