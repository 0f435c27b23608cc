package rollouts

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
)

var errReasonInSet = errors.New("--reason and --placement exclude each other: a set has no place for the reason of a pause; leave one of them out")

// Steering is a decision about the rollouts of a set, as commands and pages store it.
type Steering struct {
	// Placement is the placement whose rollout it is about; empty for all.
	Placement string
	// Reason is why; it may be empty.
	Reason string
}

// Pause pauses the rollouts: in the RolloutControl, or for one placement in the set.
func (s Steering) Pause(ctx context.Context, hub client.Client, set *workv1alpha1.ManifestWorkReplicaSet) (changed bool, err error) {
	if s.Placement == "" {
		return ChangeControl(ctx, hub, set, PauseAll(true, s.Reason))
	}
	return s.pauseInSet(ctx, hub, set, true)
}

// Resume ends pauses: that of the RolloutControl and those in the set, or for one placement that in the set.
func (s Steering) Resume(ctx context.Context, hub client.Client, set *workv1alpha1.ManifestWorkReplicaSet) (changed bool, err error) {
	if s.Placement == "" {
		if changed, err = ChangeControl(ctx, hub, set, PauseAll(false, s.Reason)); err != nil {
			return false, err
		}
		s.Reason = ""
	}
	inSet, err := s.pauseInSet(ctx, hub, set, false)
	return changed || inSet, err
}

// Approve approves groups, by name or index, for the present template.
func (s Steering) Approve(ctx context.Context, hub client.Client, set *workv1alpha1.ManifestWorkReplicaSet, groups []string) (changed bool, err error) {
	read, err := ReadNew(ctx, hub, set)
	if err != nil {
		return false, err
	}
	approvals, err := ApproveGroups(read, s.Placement, groups, s.Reason)
	if err != nil {
		return false, err
	}
	return ChangeControl(ctx, hub, set, AddApprovals(approvals))
}

// pauseInSet pauses or resumes rollouts in the set itself.
func (s Steering) pauseInSet(ctx context.Context, hub client.Client, set *workv1alpha1.ManifestWorkReplicaSet, paused bool) (bool, error) {
	if s.Reason != "" {
		return false, errReasonInSet
	}
	return Change(ctx, hub, client.ObjectKeyFromObject(set), func(set *workv1alpha1.ManifestWorkReplicaSet) ([]byte, error) {
		return SetPaused(set, s.Placement, paused)
	})
}
