package rollout

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/decision"
)

// Groups is the decision of a placement, by group. GroupsOf makes it.
type Groups struct {
	// Groups has the decision groups, in any order; groups without clusters may be left out. A cluster in several groups, as an
	// inconsistent reading may have it, counts in the first group that is rolled out.
	Groups []decision.Group
	// ClustersPerDecisionGroup is the field of the placement's group strategy. It is the default of maxConcurrency. Its zero
	// value means all clusters.
	ClustersPerDecisionGroup intstr.IntOrString
}

// GroupsOf returns the groups of a placement's decisions.
func GroupsOf(decisions decision.Decisions, placement *clusterv1beta1.Placement) Groups {
	return Groups{
		Groups:                   decisions.Groups(),
		ClustersPerDecisionGroup: placement.Spec.DecisionStrategy.GroupStrategy.ClustersPerDecisionGroup,
	}
}

// State is how far the change has come on one cluster.
type State string

// The states. Any other value counts as Progressing.
const (
	// StateToApply means that the cluster does not have the change: it is new, or has an older version.
	StateToApply State = "ToApply"
	// StateProgressing means that the cluster was given the change and has not taken it yet.
	StateProgressing State = "Progressing"
	// StateSucceeded means that the cluster has taken the change.
	StateSucceeded State = "Succeeded"
	// StateFailed means that the cluster could not take the change. It may yet recover.
	StateFailed State = "Failed"
	// StateTimedOut means that the caller's own deadline has passed. Next applies progressDeadline itself.
	StateTimedOut State = "TimedOut"
	// StateSkip means that the cluster is to be left out. It counts as done.
	StateSkip State = "Skip"
)

// States lists every state.
func States() []State {
	return []State{StateToApply, StateProgressing, StateSucceeded, StateFailed, StateTimedOut, StateSkip}
}

// Status is the state of one cluster, and since when it has it.
type Status struct {
	Cluster string
	State   State
	// Since is when the cluster entered its state. The zero time is unknown: a Succeeded status without it has soaked, and a
	// Progressing or Failed status without it never times out.
	Since time.Time
	// Soaking means that the caller does not count a Succeeded cluster as done yet, whatever its time is.
	Soaking bool
	// Failed means that the cluster failed earlier and has not succeeded since: it counts as a failure whatever its state is.
	Failed bool
	// Forgiven means that a Skip cluster failed, and that a person decided that its failure does not count.
	Forgiven bool
}

// severity orders states by their distance from success.
func (s State) severity() int {
	switch s {
	case StateSkip:
		return 0
	case StateSucceeded:
		return 1
	case StateToApply:
		return 3
	case StateFailed:
		return 4
	case StateTimedOut:
		return 5
	default: // Progressing and unknown states
		return 2
	}
}

// code returns the code of a state at an instant, and when that code ends by itself.
func (s Status) code(r rules, now time.Time) (Code, time.Time) {
	switch s.State {
	case StateToApply:
		return pending, time.Time{}
	case StateSkip:
		return Skipped, time.Time{}
	case StateTimedOut:
		return TimedOut, time.Time{}
	case StateSucceeded:
		until := s.Since.Add(r.minSuccessTime)
		switch {
		case !s.Since.IsZero() && now.Before(until):
			return Soaking, until
		case s.Soaking:
			return Soaking, time.Time{}
		}
		return Done, time.Time{}
	default: // Failed, Progressing and unknown states
		code := UnderWay
		if s.State == StateFailed {
			code = Failing
		}
		if r.deadline == never || s.Since.IsZero() {
			return code, time.Time{}
		}
		if until := s.Since.Add(r.deadline); now.Before(until) {
			return code, until
		}
		return TimedOut, time.Time{}
	}
}

// never is the deadline of a strategy without one.
const never = time.Duration(math.MaxInt64)
