package rollouts

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/kube/phrase"
)

var errReasonInSet = errors.New("--reason and --placement exclude each other: a set has no place for the reason of a " +
	"pause; leave one of them out")

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

// Approve approves groups, by name or index, for the present template. Advance has those that nothing waits for yet.
func (s Steering) Approve(ctx context.Context, hub client.Client, set *workv1alpha1.ManifestWorkReplicaSet, groups []string) (
	changed bool, advance []string, err error,
) {
	read, err := ReadNew(ctx, hub, set)
	if err != nil {
		return false, nil, err
	}
	if read.Control, err = ReadControl(ctx, hub, client.ObjectKeyFromObject(set)); err != nil {
		return false, nil, err
	}
	approvals, advance, err := ApproveGroups(read, s.Placement, groups, s.Reason)
	if err != nil {
		return false, nil, err
	}
	changed, err = ChangeControl(ctx, hub, set, AddApprovals(approvals))
	return changed, advance, err
}

// InAdvance is how a command reports groups that were approved and that nothing waits for yet. It is empty without any.
func InAdvance(groups []string) string {
	switch len(groups) {
	case 0:
		return ""
	case 1:
		return " in advance: the group " + groups[0] + " waits for nothing yet"
	default:
		return " in advance: the groups " + phrase.Join(groups, maxListed) + " wait for nothing yet"
	}
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
