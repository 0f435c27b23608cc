package rollout

import (
	"fmt"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
)

// Message returns the state of the rollout in one sentence, for a condition. It has no times, so it changes only when
// something happened.
func (s Step) Message() string {
	switch s.Phase {
	case PhaseMisconfigured:
		return "The strategy is invalid: " + s.Errors.ToAggregate().Error()
	case PhaseUndecided:
		return "The placement has decided nothing yet"
	case PhaseEmpty:
		return "The placement selects no cluster, so there is nothing to roll out"
	case PhaseBreached:
		if s.Elsewhere {
			return fmt.Sprintf("Another placement of this rollout is breached: %s may not start", clusters(len(s.Wait)))
		}
		return s.failed() + ": no more clusters start"
	case PhaseFailed:
		if !s.Breached {
			return "No cluster succeeded: " + s.failures()
		}
		return s.failed() + ", and none is left to start"
	case PhaseAdvancing:
		return fmt.Sprintf("Starting %s, %d of %d under way then", clusters(len(s.Apply)), s.InFlight, s.Total)
	case PhaseFinished, PhaseMissing:
		return s.ended()
	case PhasePaused:
		return fmt.Sprintf("Paused with %s to start", clusters(len(s.Wait)))
	case PhaseUnproven:
		if len(s.Wait) == 0 {
			return fmt.Sprintf("No cluster of %s can prove the change: the rollout does not end before a person passes it", s.unproven())
		}
		const text = "No cluster of %s can prove the change: %s may not start before a person passes it"
		return fmt.Sprintf(text, s.unproven(), clusters(len(s.Wait)))
	case PhaseUnapproved:
		return fmt.Sprintf("Group %s waits for approval, with %s to start", s.Group, clusters(len(s.Wait)))
	case PhaseSoaking:
		return fmt.Sprintf("%s soaking, %d to start", clusters(s.InFlight), len(s.Wait))
	case PhaseWaiting:
		if s.InFlight+len(s.Wait) == 0 {
			return s.ended() // others are missed
		}
	}
	return fmt.Sprintf("%s under way, %d to start", clusters(s.InFlight), len(s.Wait))
}

// ended returns what became of the clusters of a rollout in which nothing is left to do.
func (s Step) ended() string {
	var others []string
	for _, one := range []struct {
		count int
		what  string
	}{{s.Failures, "failed"}, {s.Lost, "lost"}, {s.Forgiven, "forgiven"}, {s.Skipped - s.Forgiven, "left out"}} {
		if one.count > 0 {
			others = append(others, fmt.Sprintf("%d %s", one.count, one.what))
		}
	}
	done := s.Total - s.Failures - s.Skipped
	switch {
	case len(others) == 0:
		return "Rolled out to " + clusters(done)
	case done == s.Total:
		return "Rolled out to " + clusters(done) + ", " + strings.Join(others, ", ")
	case s.Skipped > 0 && s.Skipped == s.Total:
		return "Ended: " + strings.Join(others, ", ") + ", none succeeded"
	default:
		return fmt.Sprintf("Rolled out to %d of %s, %s", done, clusters(s.Total), strings.Join(others, ", "))
	}
}

// failed returns what failed, and the limit that a breach has exceeded. Lost clusters are no part of the selected ones: with them the
// limit is named by its number.
func (s Step) failed() string {
	switch {
	case s.Lost == 0:
		return fmt.Sprintf("%s of %d failed, %s", clusters(s.Failures), s.Total, s.limit())
	case s.Mandatory || s.Base == 0:
		return s.failures() + ", " + s.limit()
	default:
		return fmt.Sprintf("%s; maxFailures allows %d of the %d at the start", s.failures(), s.MaxFailures, s.Base)
	}
}

// failures counts the clusters that failed, and those that are lost.
func (s Step) failures() string {
	verb := "was"
	if s.Lost > 1 {
		verb = "were"
	}
	switch {
	case s.Lost == 0:
		return fmt.Sprintf("%d of %s failed", s.Failures, clusters(s.Total))
	case s.Failures == 0:
		return fmt.Sprintf("%s %s lost", clusters(s.Lost), verb)
	default:
		return fmt.Sprintf("%s failed and %d %s lost", clusters(s.Failures), s.Lost, verb)
	}
}

// limit names what a breach has exceeded.
func (s Step) limit() string {
	if s.Mandatory {
		return "and a mandatory group allows no failure"
	}
	return "more than maxFailures allows"
}

// unproven names the mandatory group that holds the rollout.
func (s Step) unproven() string {
	if s.Unproven == nil {
		return "a mandatory group"
	}
	return "the mandatory group with " + Reference(*s.Unproven)
}

func clusters(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}

// Explain returns the meaning of a verdict in a few words, with the numbers of the step.
func (s Step) Explain(v Verdict) string {
	switch v.Code {
	case WaitsForPlace:
		if s.InFlight < s.MaxConcurrency { // a caller has withheld clusters that the step would start
			return "the clusters whose turn it is have not started"
		}
		return fmt.Sprintf("maxConcurrency is reached: %d of %d", s.InFlight, s.MaxConcurrency)
	case WaitsForGroup:
		return fmt.Sprintf("group %s is not done", s.Group)
	case WaitsForProof:
		return fmt.Sprintf("no cluster of %s can prove the change", s.unproven())
	case WaitsForApproval:
		return fmt.Sprintf("group %s is not approved", v.Group)
	case WaitsForResume:
		return "the rollout is paused"
	case WaitsForRepair:
		if s.Elsewhere {
			return "another placement of this rollout is breached"
		}
		if s.Lost > 0 {
			return s.failed()
		}
		return fmt.Sprintf("%s failed, %s", clusters(s.Failures), s.limit())
	case WaitsForStrategy:
		return "the strategy is invalid"
	case WaitsForDecision:
		return "the placement has decided nothing yet"
	case Starting:
		return "gets the change now"
	case UnderWay:
		return "has not taken the change yet"
	case Soaking:
		return "succeeded, minSuccessTime has not passed"
	case Failing:
		return "failed, and may recover"
	case TimedOut:
		return "the deadline has passed"
	case Skipped:
		if v.Forgiven {
			return "failed, and is forgiven"
		}
		return "is left out"
	case Left:
		return "is no longer selected"
	default:
		return "has the change"
	}
}

// Reference returns a reference to groups as it is written in a strategy.
func Reference(to clusterv1alpha1.MandatoryDecisionGroup) string {
	if to.GroupName != "" {
		return "groupName " + to.GroupName
	}
	return fmt.Sprintf("groupIndex %d", to.GroupIndex)
}

// refersTo reports whether a reference is to a group.
func refersTo(to clusterv1alpha1.MandatoryDecisionGroup, key decision.GroupKey) bool {
	if to.GroupName != "" {
		return to.GroupName == key.Name
	}
	return int(to.GroupIndex) == key.Index
}

// unmatched returns the references to no group, each once.
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
