package rollout

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berth-project/berth/decision"
)

// Groups is what a placement decided, by group.
type Groups struct {
	// Groups are the decision groups, in any order; those that have no clusters may be left out. A cluster that is in
	// several, as a reading in the middle of a change may have it, counts in the first that is rolled out.
	Groups []decision.Group
	// ClustersPerDecisionGroup is that of the placement's group strategy: what maxConcurrency is when it is not set. Its
	// zero value stands for all clusters.
	ClustersPerDecisionGroup intstr.IntOrString
}

// State is how far the change has come on one cluster.
type State string

// The states. Any other counts as Progressing.
const (
	// StateToApply says that the cluster does not have the change: it is new, or has an older one.
	StateToApply State = "ToApply"
	// StateProgressing says that the cluster has been given the change and has not yet taken it.
	StateProgressing State = "Progressing"
	// StateSucceeded says that the cluster has taken the change.
	StateSucceeded State = "Succeeded"
	// StateFailed says that the cluster could not take the change. It may yet recover.
	StateFailed State = "Failed"
	// StateTimedOut says that the caller found the cluster to be overdue. Next finds that out by itself too.
	StateTimedOut State = "TimeOut"
	// StateSkip says that the cluster is to be left out; it counts as done.
	StateSkip State = "Skip"
)

// States lists every state.
func States() []State {
	return []State{StateToApply, StateProgressing, StateSucceeded, StateFailed, StateTimedOut, StateSkip}
}

// Status is how far the change has come on one cluster, and since when.
type Status struct {
	Cluster string
	State   State
	// Since is when the cluster entered its state. The zero time is unknown: a Succeeded status without it has soaked, and a
	// Progressing or Failed one never times out.
	Since time.Time
}

// severity orders states by how far they are from success.
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
	default: // Progressing, and what is unknown
		return 2
	}
}

// code returns what a state means at an instant.
func (s Status) code(r rules, now time.Time) (Code, time.Time) {
	switch s.State {
	case StateToApply:
		return pending, time.Time{}
	case StateSkip:
		return Skipped, time.Time{}
	case StateTimedOut:
		return TimedOut, time.Time{}
	case StateSucceeded:
		if until := s.Since.Add(r.minSuccessTime); !s.Since.IsZero() && now.Before(until) {
			return Soaking, until
		}
		return Done, time.Time{}
	default: // Failed, Progressing, and what is unknown
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

// never is a deadline that does not come.
const never = time.Duration(math.MaxInt64)
