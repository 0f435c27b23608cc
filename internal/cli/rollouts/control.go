package rollouts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	rolloutv1alpha1 "github.com/berth-project/berth/api/rollout/v1alpha1"
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/decision"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/rollout"
)

// maxReason bounds the reason of a decision, in bytes.
const maxReason = 256

var (
	errNoReason    = errors.New("no reason is given: write --reason, for those who look at the object later")
	errNoneMissing = errors.New("the rollout misses no cluster: `kubectl berth rollout status` shows what it waits for")
	errNotHeld     = errors.New("the rollout does not wait for a former template: `kubectl berth rollout status` shows what it waits for")
	errLongReason  = fmt.Errorf("the reason is longer than %d bytes: shorten it", maxReason)
)

// TrimReason returns the reason of a decision without the space around it.
func TrimReason(reason string) (string, error) {
	if reason = strings.TrimSpace(reason); len(reason) > maxReason {
		return "", errLongReason
	}
	return reason, nil
}

// ReadControl returns what people decided about the rollout of a set; nil for nothing, for a hub without the definition, and where the
// caller may not read it.
func ReadControl(ctx context.Context, hub client.Reader, key client.ObjectKey) (*rolloutv1alpha1.RolloutControl, error) {
	out := &rolloutv1alpha1.RolloutControl{}
	switch err := hub.Get(ctx, key, out); {
	case err == nil:
		return out, nil
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		return nil, nil //nolint:nilnil // nothing is known
	default:
		return nil, fmt.Errorf("reading RolloutControl %s: %w", key, err)
	}
}

// ControlChange stores a decision in the name of a user, and reports whether there is anything to change.
type ControlChange func(spec *rolloutv1alpha1.RolloutControlSpec, by string) bool

// ChangeControl stores what the caller decides about the rollout of a set. The object has the name of the set and no owner: a set that is
// deleted and created again, as by `kubectl replace --force`, has the same decisions.
func ChangeControl(ctx context.Context, hub client.Client, set *workv1alpha1.ManifestWorkReplicaSet,
	change ControlChange,
) (changed bool, err error) {
	key := client.ObjectKeyFromObject(set)
	by, err := userName(ctx, hub)
	if err != nil {
		return false, err
	}
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		control := &rolloutv1alpha1.RolloutControl{}
		err := hub.Get(ctx, key, control)
		switch {
		case err == nil:
			if changed = change(&control.Spec, by); changed {
				control.OwnerReferences = slices.DeleteFunc(control.OwnerReferences, ofSet)
				err = hub.Update(ctx, control)
			}
		case apierrors.IsNotFound(err):
			control.Namespace, control.Name = key.Namespace, key.Name
			if changed = change(&control.Spec, by); !changed {
				return nil
			}
			err = hub.Create(ctx, control)
		}
		if err != nil {
			return fmt.Errorf("storing RolloutControl %s: %w", key, err)
		}
		return nil
	})
	return changed && err == nil, err //nolint:wrapcheck // it names the object
}

// ofSet reports whether an owner is a set, as former versions stored it.
func ofSet(owner metav1.OwnerReference) bool { return owner.Kind == "ManifestWorkReplicaSet" }

// userName returns the name of the caller as the hub has it; empty for a caller who may not read it.
func userName(ctx context.Context, hub client.Client) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := hub.Create(ctx, review); err != nil && !apierrors.IsForbidden(err) {
		return "", fmt.Errorf("reading your user name from the hub: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// PauseAll pauses or resumes every rollout of a set.
func PauseAll(paused bool, reason string) ControlChange {
	return func(spec *rolloutv1alpha1.RolloutControlSpec, by string) bool {
		if spec.Paused == paused {
			return false
		}
		spec.Paused, spec.PausedBy, spec.PauseReason = paused, by, reason
		return true
	}
}

// ApproveGroups returns the approvals of groups, by name or index, for the present template of a set: a group whose rollout waits for
// approvals may start, and a mandatory group that is not proven is passed. A group must be in the decision or be mandatory, and not have
// passed. Advance has the groups that nothing waits for yet.
func ApproveGroups(d Delivery, placement string, groups []string, reason string) (
	out []rolloutv1alpha1.GroupApproval, advance []string, err error,
) {
	if len(groups) == 0 {
		return nil, nil, errNoGroup
	}
	refs, err := refsTo(d.Set, placement)
	if err != nil {
		return nil, nil, err
	}
	revision, err := plan.TemplateHash(&d.Set.Spec.ManifestWorkTemplate)
	if err != nil {
		return nil, nil, fmt.Errorf("hashing the template of the set %s/%s: %w", d.Set.Namespace, d.Set.Name, err)
	}
	for _, text := range groups {
		before, known, waits := len(out), false, false
		for _, i := range refs {
			ref := &d.Set.Spec.PlacementRefs[i]
			group, exists := namedGroup(d.Placements[ref.Name], referenceTo(text))
			mandatory := d.isMandatory(ref, group)
			known = known || exists || mandatory
			approval := rolloutv1alpha1.GroupApproval{
				MandatoryDecisionGroup: group, Placement: ref.Name, Revision: revision, Reason: reason,
				StartedTime: plan.StartedTime(d.Set.Status.Rollout, revision),
			}
			starts := exists && ref.RolloutStrategy.Approval != nil && (!d.started(ref.Name, group, revision) || d.approved(approval))
			switch {
			case starts && !d.standsUnproven():
				approval.For = rolloutv1alpha1.ApprovalStart
			case mandatory && !passed(d.Set, ref.Name, group, revision):
				approval.For = rolloutv1alpha1.ApprovalProof
			case starts:
				approval.For = rolloutv1alpha1.ApprovalStart
			default:
				continue
			}
			waits = waits || d.waits(approval) || d.approved(approval)
			out = append(out, approval)
		}
		switch {
		case !known:
			return nil, nil, fmt.Errorf("the set %s/%s has no group %q: the groups are %s", d.Set.Namespace, d.Set.Name, text, d.groupNames(refs))
		case len(out) == before:
			return nil, nil, fmt.Errorf("nothing in the set %s/%s waits for the group %q: no strategy has approval, or the group has passed. "+
				"The groups are %s", d.Set.Namespace, d.Set.Name, text, d.groupNames(refs))
		case !waits:
			advance = append(advance, text)
		}
	}
	return out, advance, nil
}

// approved reports whether a group is approved already, for what an approval is or for anything where it is for nothing yet.
func (d Delivery) approved(approval rolloutv1alpha1.GroupApproval) bool {
	return d.Control != nil && slices.ContainsFunc(d.Control.Spec.Approvals, func(other rolloutv1alpha1.GroupApproval) bool {
		return other.MandatoryDecisionGroup == approval.MandatoryDecisionGroup && other.Placement == approval.Placement &&
			other.Revision == approval.Revision && (approval.For == "" || other.For == approval.For) &&
			plan.Concerns(d.Set.Status.Rollout, approval.Revision, other.StartedTime)
	})
}

// started reports whether every cluster of a group has started with the present template, or its rollout has finished.
func (d Delivery) started(placement string, group clusterv1alpha1.MandatoryDecisionGroup, revision string) bool {
	record := d.Set.Status.Rollout
	if record == nil || !strings.HasPrefix(record.Revision, revision) {
		return false
	}
	if record.FinishedTime != nil {
		return true
	}
	started, selected := int32(0), 0
	for _, of := range record.Placements {
		for _, counts := range of.Groups {
			key := decision.GroupKey{Index: int(counts.Index), Name: counts.Name}
			if of.Name == placement && rollout.RefersTo(group, key) {
				started += counts.Started - counts.Departed
			}
		}
	}
	for _, each := range d.Placements[placement].Decisions.Groups() {
		if rollout.RefersTo(group, each.GroupKey) {
			selected += len(each.Clusters)
		}
	}
	return selected > 0 && int(started) >= selected
}

// waits reports whether the rollout stands still for what an approval is of, by the status of the set.
func (d Delivery) waits(approval rolloutv1alpha1.GroupApproval) bool {
	condition := meta.FindStatusCondition(d.Set.Status.Conditions, workv1alpha1.Progressing)
	if condition == nil || condition.ObservedGeneration != d.Set.Generation {
		return false
	}
	if approval.For == rolloutv1alpha1.ApprovalProof {
		record := d.Set.Status.Rollout
		return record != nil && slices.ContainsFunc(record.Holds, func(held clusterv1alpha1.RolloutHold) bool {
			return held.Type == clusterv1alpha1.HoldUnprovenGroup && held.Placement == approval.Placement &&
				held.MandatoryDecisionGroup == approval.MandatoryDecisionGroup
		})
	}
	if condition.Reason != string(rollout.PhaseUnapproved) {
		return false
	}
	for _, group := range d.Placements[approval.Placement].Decisions.Groups() {
		reference := clusterv1alpha1.MandatoryDecisionGroup{GroupName: group.Name, GroupIndex: int32(group.Index)} //nolint:gosec // it is small
		if len(group.Clusters) > 0 && !d.started(approval.Placement, reference, approval.Revision) {
			return rollout.RefersTo(approval.MandatoryDecisionGroup, group.GroupKey)
		}
	}
	return false
}

// namedGroup returns a reference by the name of the group, where it has one, and whether the group exists.
func namedGroup(placement plan.Placement, to clusterv1alpha1.MandatoryDecisionGroup) (out clusterv1alpha1.MandatoryDecisionGroup,
	exists bool,
) {
	for _, group := range placement.Decisions.Groups() {
		if rollout.RefersTo(to, group.GroupKey) {
			if group.Name != "" {
				return clusterv1alpha1.MandatoryDecisionGroup{GroupName: group.Name}, true
			}
			return to, true
		}
	}
	return to, false
}

// isMandatory reports whether the strategy of a placement has a group as a mandatory one, by its name or its index.
func (d Delivery) isMandatory(ref *workv1alpha1.LocalPlacementReference, group clusterv1alpha1.MandatoryDecisionGroup) bool {
	return slices.ContainsFunc(rollout.MandatoryGroups(&ref.RolloutStrategy.RolloutStrategy),
		func(to clusterv1alpha1.MandatoryDecisionGroup) bool {
			named, _ := namedGroup(d.Placements[ref.Name], to)
			return named == group || to == group
		})
}

// standsUnproven reports whether the rollout stands still for a mandatory group. Before that, an approval is not for its proof.
func (d Delivery) standsUnproven() bool {
	return meta.IsStatusConditionFalse(d.Set.Status.Conditions, workv1alpha1.Progressing) &&
		meta.FindStatusCondition(d.Set.Status.Conditions, workv1alpha1.Progressing).Reason == string(rollout.PhaseUnproven)
}

// passed reports whether a mandatory group was passed with the present template.
func passed(set *workv1alpha1.ManifestWorkReplicaSet, placement string, group clusterv1alpha1.MandatoryDecisionGroup,
	revision string,
) bool {
	if set.Status.Rollout == nil || !strings.HasPrefix(set.Status.Rollout.Revision, revision) {
		return false
	}
	for _, of := range set.Status.Rollout.Placements {
		for _, gate := range of.Gates {
			named := gate.GroupName != "" && gate.GroupName == group.GroupName || gate.Resolved != "" && gate.Resolved == group.GroupName
			indexed := group.GroupName == "" && gate.GroupName == "" && gate.GroupIndex == group.GroupIndex
			if of.Name == placement && gate.Passed != "" && (named || indexed) {
				return true
			}
		}
	}
	return false
}

// groupNames names the groups of the decisions of placements, and the mandatory groups of their strategies.
func (d Delivery) groupNames(refs []int) string {
	var names []string
	for _, i := range refs {
		ref := &d.Set.Spec.PlacementRefs[i]
		for _, group := range d.Placements[ref.Name].Decisions.Groups() {
			names = append(names, group.String())
		}
		for _, to := range rollout.MandatoryGroups(&ref.RolloutStrategy.RolloutStrategy) {
			if _, exists := namedGroup(d.Placements[ref.Name], to); !exists {
				names = append(names, "the mandatory "+rollout.Reference(to))
			}
		}
	}
	if len(names) == 0 {
		return "none: no placement has decided"
	}
	slices.Sort(names)
	return phrase.Join(slices.Compact(names), maxListed)
}

// AddApprovals adds approvals. Those for other templates go.
func AddApprovals(added []rolloutv1alpha1.GroupApproval) ControlChange {
	return func(spec *rolloutv1alpha1.RolloutControlSpec, by string) bool {
		changed := false
		for _, one := range added {
			spec.Approvals = slices.DeleteFunc(spec.Approvals, func(other rolloutv1alpha1.GroupApproval) bool {
				return other.Revision != one.Revision || isPast(other.StartedTime, one.StartedTime)
			})
			known := slices.ContainsFunc(spec.Approvals, func(other rolloutv1alpha1.GroupApproval) bool {
				return other.MandatoryDecisionGroup == one.MandatoryDecisionGroup && other.Placement == one.Placement && other.For == one.For
			})
			if !known {
				one.By = by
				spec.Approvals = append(spec.Approvals, one)
				changed = true
			}
		}
		return changed
	}
}

// isPast reports whether a decision is about another rollout of the template than the present one.
func isPast(started, present *metav1.MicroTime) bool {
	return started != nil && !started.Equal(present)
}

// StartWithoutFormer lets the present template of a set start although that of the last finished rollout is not kept. It is an error where
// the set does not wait for that.
func StartWithoutFormer(set *workv1alpha1.ManifestWorkReplicaSet, reason string, now time.Time) (ControlChange, error) {
	revision, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		return nil, fmt.Errorf("hashing the template of the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	if !plan.LacksFormer(set) || set.Status.CurrentRevision == revision {
		return nil, fmt.Errorf("%w: set %s/%s", errNotHeld, set.Namespace, set.Name)
	}
	return func(decided *rolloutv1alpha1.RolloutControlSpec, by string) bool {
		return decideTemplate(&decided.WithoutFormer, set, rolloutv1alpha1.TemplateDecision{
			Revision: revision, By: by, Reason: reason, Time: metav1.NewMicroTime(now),
		})
	}, nil
}

// decideTemplate stores a decision about the present rollout of a template, and reports whether it was not stored before.
func decideTemplate(at **rolloutv1alpha1.TemplateDecision, set *workv1alpha1.ManifestWorkReplicaSet,
	decided rolloutv1alpha1.TemplateDecision,
) bool {
	decided.StartedTime = plan.StartedTime(set.Status.Rollout, decided.Revision)
	if former := *at; former != nil && former.Revision == decided.Revision && !isPast(former.StartedTime, decided.StartedTime) {
		return false
	}
	*at = &decided
	return true
}

// FinishWithoutMissing lets the rollout of the present template of a set finish without the clusters that are missing. It is an error where
// the rollout misses no cluster.
func FinishWithoutMissing(set *workv1alpha1.ManifestWorkReplicaSet, reason string, now time.Time) (ControlChange, error) {
	revision, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		return nil, fmt.Errorf("hashing the template of the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	if record := set.Status.Rollout; record == nil || record.Missing == 0 || set.Status.UpdateRevision != revision {
		return nil, fmt.Errorf("%w: set %s/%s", errNoneMissing, set.Namespace, set.Name)
	}
	return func(decided *rolloutv1alpha1.RolloutControlSpec, by string) bool {
		return decideTemplate(&decided.WithoutMissing, set, rolloutv1alpha1.TemplateDecision{
			Revision: revision, By: by, Reason: reason, Time: metav1.NewMicroTime(now),
		})
	}, nil
}

// Forgive returns the failures of clusters that do not count any more. They must have failed, or be lost, with the present template.
func Forgive(set *workv1alpha1.ManifestWorkReplicaSet, clusters []string, reason string) ([]rolloutv1alpha1.ForgivenCluster, error) {
	if reason == "" {
		return nil, errNoReason
	}
	revision, err := plan.TemplateHash(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		return nil, fmt.Errorf("hashing the template of the set %s/%s: %w", set.Namespace, set.Name, err)
	}
	failed := failedClusters(set)
	var out []rolloutv1alpha1.ForgivenCluster
	for _, name := range clusters {
		if !slices.Contains(failed, name) {
			return nil, fmt.Errorf("the cluster %q has not failed with the present template of the set %s/%s: those that have are %s",
				name, set.Namespace, set.Name, cmp.Or(phrase.Join(failed, maxListed), "none"))
		}
		out = append(out, rolloutv1alpha1.ForgivenCluster{
			Cluster: name, Revision: revision, Reason: reason, StartedTime: plan.StartedTime(set.Status.Rollout, revision),
		})
	}
	return out, nil
}

// failedClusters returns the clusters on record that failed, were lost or are forgiven.
func failedClusters(set *workv1alpha1.ManifestWorkReplicaSet) []string {
	var out []string
	if set.Status.Rollout == nil || set.Status.Rollout.FinishedTime != nil {
		return nil
	}
	for _, entry := range set.Status.Rollout.Clusters {
		switch entry.Phase {
		case clusterv1alpha1.ClusterFailed, clusterv1alpha1.ClusterLost, clusterv1alpha1.ClusterForgiven:
			out = append(out, entry.Name)
		case clusterv1alpha1.ClusterInFlight, clusterv1alpha1.ClusterLeft:
		}
	}
	return out
}

// AddForgiven adds forgiven failures. Those with other templates go.
func AddForgiven(added []rolloutv1alpha1.ForgivenCluster) ControlChange {
	return func(spec *rolloutv1alpha1.RolloutControlSpec, by string) bool {
		changed := false
		for _, one := range added {
			spec.Forgiven = slices.DeleteFunc(spec.Forgiven, func(other rolloutv1alpha1.ForgivenCluster) bool {
				return other.Revision != one.Revision || isPast(other.StartedTime, one.StartedTime)
			})
			known := slices.ContainsFunc(spec.Forgiven, func(other rolloutv1alpha1.ForgivenCluster) bool { return other.Cluster == one.Cluster })
			if !known {
				one.By = by
				spec.Forgiven = append(spec.Forgiven, one)
				changed = true
			}
		}
		return changed
	}
}
