package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

// lacksFormer reports whether the template of the last finished rollout is lost: it could not be stored while it was the present one, as
// the stored condition records, and it is not kept. Without that record the template was lost before templates had to be kept, and nothing
// is held.
func (p *planner) lacksFormer() bool {
	former := p.in.Set.Status.CurrentRevision
	return former != "" && former != p.in.Hash && !p.in.Kept[former] && LacksFormer(p.in.Set)
}

// startsWithoutFormer reports whether a person lets the present template start without a way back.
func (p *planner) startsWithoutFormer() bool {
	return p.in.Control != nil && p.decides(p.in.Control.Spec.WithoutFormer)
}

// finishesWithoutMissing reports whether a person lets the rollout of the present template finish without the clusters that are missing.
func (p *planner) finishesWithoutMissing() bool {
	return p.in.Control != nil && p.decides(p.in.Control.Spec.WithoutMissing)
}

// decides reports whether a decision is about the rollout of the present template. It may be nil.
func (p *planner) decides(of *rolloutv1alpha1.TemplateDecision) bool {
	return of != nil && p.counts(of.Revision, of.StartedTime)
}

// ApproveWithoutMissing returns the command that lets the rollout of a set finish without the clusters that are missing.
func ApproveWithoutMissing(set *workv1alpha1.ManifestWorkReplicaSet) string {
	return fmt.Sprintf("kubectl berth rollout approve %s -n %s --without-missing", set.Name, set.Namespace)
}

// unkept returns the condition that reports a template that is not kept. Current is the hash of the last finished one. Is is false if both
// it and the present template are kept, or were lost before they had to be.
func (p *planner) unkept(current string) (out metav1.Condition, is bool) {
	out = metav1.Condition{Type: workv1alpha1.FormerTemplateUnkept, Status: metav1.ConditionTrue}
	switch {
	case current == p.in.Hash && p.in.Unkept != "":
		out.Reason = ReasonFormerUnkept
		out.Message = fmt.Sprintf("the template %s of the last finished rollout is not stored, so no other one starts, and what runs stays: %s",
			current, p.in.Unkept)
	case current == p.in.Hash:
		return out, false
	case p.lacksFormer() && p.startsWithoutFormer():
		out.Reason = ReasonStartsWithoutFormer
		out.Message = fmt.Sprintf("the template %s of the last finished rollout is not stored, so no cluster can return to it; "+
			"the RolloutControl of the set lets the template %s start nevertheless", current, p.in.Hash)
	case p.lacksFormer():
		out.Reason = ReasonFormerUnkept
		out.Message = fmt.Sprintf("the template %s of the last finished rollout is not stored, so the template %s does not start, and "+
			"what runs stays: write the former template into the set until this condition goes, or start without a way back with `%s`",
			current, p.in.Hash, ApproveWithoutFormer(p.in.Set))
	case p.in.Unkept != "":
		out.Reason = ReasonPresentUnkept
		out.Message = fmt.Sprintf("the present template %s is not stored; once its rollout has finished no other template starts: %s",
			p.in.Hash, p.in.Unkept)
	default:
		return out, false
	}
	return out, true
}

// LacksFormer reports whether the status of a set records that the template of its last finished rollout is lost: another one starts only
// if a person lets it.
func LacksFormer(set *workv1alpha1.ManifestWorkReplicaSet) bool {
	condition := meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.FormerTemplateUnkept)
	return condition != nil && (condition.Reason == ReasonFormerUnkept || condition.Reason == ReasonStartsWithoutFormer)
}

// HeldForFormer reports whether the present template of a set does not start because that of the last finished rollout is not kept.
func HeldForFormer(set *workv1alpha1.ManifestWorkReplicaSet) bool {
	condition := meta.FindStatusCondition(set.Status.Conditions, workv1alpha1.FormerTemplateUnkept)
	return condition != nil && condition.Reason == ReasonFormerUnkept && set.Status.CurrentRevision != set.Status.UpdateRevision
}

// ApproveWithoutFormer returns the command that lets the present template of a set start although the former one is not kept.
func ApproveWithoutFormer(set *workv1alpha1.ManifestWorkReplicaSet) string {
	return fmt.Sprintf("kubectl berth rollout approve %s -n %s --without-former", set.Name, set.Namespace)
}
