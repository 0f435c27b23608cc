package rollout

import (
	"fmt"
	"slices"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
)

// Message tells in one sentence where the rollout stands, for a condition: it has no times, so it changes only when
// something happened.
func (s Step) Message() string {
	switch s.Phase {
	case PhaseMisconfigured:
		return "The strategy cannot be followed: " + s.Errors.ToAggregate().Error()
	case PhaseUndecided:
		return "The placement has decided nothing yet"
	case PhaseEmpty:
		return "The placement selects no cluster, so there is nothing to roll out"
	case PhaseBreached:
		return fmt.Sprintf("%s of %d failed, more than may: no further one starts", clusters(s.Failures), s.Total)
	case PhaseAdvancing:
		return fmt.Sprintf("Starting %s, %d of %d under way then", clusters(len(s.Apply)), s.InFlight, s.Total)
	case PhaseFinished:
		if s.Failures > 0 {
			return fmt.Sprintf("Rolled out to all of %s but %d that failed", clusters(s.Total), s.Failures)
		}
		return "Rolled out to " + clusters(s.Total)
	case PhasePaused:
		return fmt.Sprintf("Paused with %s to start", clusters(len(s.Wait)))
	case PhaseUnapproved:
		return fmt.Sprintf("Group %s waits for approval, with it %s", s.Group, clusters(len(s.Wait)))
	case PhaseSoaking:
		return fmt.Sprintf("%s succeeded and watched, %d to start", clusters(s.InFlight), len(s.Wait))
	default:
		return fmt.Sprintf("%s under way, %d to start", clusters(s.InFlight), len(s.Wait))
	}
}

func clusters(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}

// Explain returns in words what a code means for a cluster, as far as the step knows more than the code.
func (s Step) Explain(v Verdict) string {
	switch v.Code {
	case WaitsForPlace:
		return fmt.Sprintf("%d of %d places are taken", s.InFlight, s.MaxConcurrency)
	case WaitsForGroup:
		return fmt.Sprintf("group %s is not done", s.Group)
	case WaitsForApproval:
		return fmt.Sprintf("group %s is not approved", v.Group)
	case WaitsForResume:
		return "the rollout is paused"
	case WaitsForRepair:
		return fmt.Sprintf("%s failed, more than may", clusters(s.Failures))
	case WaitsForStrategy:
		return "the strategy cannot be followed"
	case WaitsForDecision:
		return "the placement has decided nothing yet"
	case Starting:
		return "gets the change now"
	case UnderWay:
		return "has not taken the change yet"
	case Soaking:
		return "succeeded, and is watched"
	case Failing:
		return "failed, and may recover"
	case TimedOut:
		return "the deadline has passed"
	case Skipped:
		return "is left out"
	case Left:
		return "is selected no longer"
	default:
		return "has the change"
	}
}

// Reference returns a reference to groups as a user would write it.
func Reference(to clusterv1alpha1.MandatoryDecisionGroup) string {
	if to.GroupName != "" {
		return "groupName " + to.GroupName
	}
	return fmt.Sprintf("groupIndex %d", to.GroupIndex)
}

// refersTo says whether a reference points to a group.
func refersTo(to clusterv1alpha1.MandatoryDecisionGroup, key decision.GroupKey) bool {
	if to.GroupName != "" {
		return to.GroupName == key.Name
	}
	return int(to.GroupIndex) == key.Index
}

// unmatched returns the references that point to no group, each once.
func unmatched(references []clusterv1alpha1.MandatoryDecisionGroup, groups []decision.Group) []clusterv1alpha1.MandatoryDecisionGroup {
	var out []clusterv1alpha1.MandatoryDecisionGroup
	for _, to := range references {
		found := slices.ContainsFunc(groups, func(group decision.Group) bool { return refersTo(to, group.GroupKey) })
		if !found && !slices.Contains(out, to) {
			out = append(out, to)
		}
	}
	return out
}
