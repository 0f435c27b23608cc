package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
)

// Code says what is done with a cluster, and why. The codes are stable: callers may store and compare them.
type Code string

// pending marks a cluster without the change, until it is known whether it starts or what it waits for.
const pending Code = ""

const (
	// Starting says that the cluster gets the change now.
	Starting Code = "Starting"

	// UnderWay says that the cluster has been given the change and has not taken it yet. It holds a place of maxConcurrency,
	// and its group is not done.
	UnderWay Code = "UnderWay"
	// Soaking says that the cluster took the change and is watched for minSuccessTime. It holds its place meanwhile.
	Soaking Code = "Soaking"
	// Failing says that the cluster failed and its deadline has not passed. It counts as a failure, holds no place, and
	// nobody waits for it. When it recovers, the failure is forgotten.
	Failing Code = "Failing"
	// Done says that the cluster has taken the change.
	Done Code = "Done"
	// Skipped says that the cluster is left out on its caller's wish.
	Skipped Code = "Skipped"

	// TimedOut says that the deadline passed before the cluster took the change. It counts as a failure, and nobody waits
	// for it.
	TimedOut Code = "TimedOut"

	// WaitsForPlace says that as many clusters are under way as may be.
	WaitsForPlace Code = "WaitsForPlace"
	// WaitsForGroup says that a group which comes before is not done.
	WaitsForGroup Code = "WaitsForGroup"
	// WaitsForApproval says that nobody has approved the cluster's group.
	WaitsForApproval Code = "WaitsForApproval"
	// WaitsForResume says that the rollout is paused.
	WaitsForResume Code = "WaitsForResume"
	// WaitsForRepair says that more clusters failed than may, so that no further one starts.
	WaitsForRepair Code = "WaitsForRepair"
	// WaitsForStrategy says that the strategy cannot be followed.
	WaitsForStrategy Code = "WaitsForStrategy"
	// WaitsForDecision says that the placement has no decision that could tell whether the cluster is selected.
	WaitsForDecision Code = "WaitsForDecision"

	// Left says that the cluster is selected no longer.
	Left Code = "Left"
)

// Codes lists every code.
func Codes() []Code {
	return []Code{
		Starting, UnderWay, Soaking, Failing, Done, Skipped, TimedOut,
		WaitsForPlace, WaitsForGroup, WaitsForApproval, WaitsForResume, WaitsForRepair, WaitsForStrategy, WaitsForDecision, Left,
	}
}

// Phase says where a rollout stands as a whole. The first that applies counts, in the order below.
type Phase string

const (
	// PhaseMisconfigured says that the strategy cannot be followed: Step.Errors tells why. Nothing starts, nothing is given up.
	PhaseMisconfigured Phase = "Misconfigured"
	// PhaseUndecided says that there is no group at all. A placement that has decided has one at least, though it may be empty;
	// so nothing is known, and nobody is removed.
	PhaseUndecided Phase = "Undecided"
	// PhaseEmpty says that the placement selects nobody. It is no success: nothing was rolled out.
	PhaseEmpty Phase = "Empty"
	// PhaseBreached says that more clusters failed than may. Nothing starts until enough have recovered or left, or the
	// strategy permits more.
	PhaseBreached Phase = "Breached"
	// PhaseAdvancing says that clusters start with this step.
	PhaseAdvancing Phase = "Advancing"
	// PhaseFinished says that every cluster has the change, was skipped, or failed within what is tolerated.
	PhaseFinished Phase = "Finished"
	// PhasePaused says that clusters are still to be started, and somebody paused the rollout.
	PhasePaused Phase = "Paused"
	// PhaseWaiting says that clusters are under way that must first succeed.
	PhaseWaiting Phase = "Waiting"
	// PhaseSoaking says that all clusters under way have succeeded and are watched for minSuccessTime.
	PhaseSoaking Phase = "Watching"
	// PhaseUnapproved says that nothing is under way, and the next group waits for approval.
	PhaseUnapproved Phase = "Unapproved"
)

// Verdict is what is done with one cluster.
type Verdict struct {
	Cluster string
	// Group is where the cluster counts; that of a cluster which is in none has NoIndex.
	Group decision.GroupKey
	Code  Code
	// Until is when the code ends by itself, if it does: the end of the watch or of the deadline.
	Until time.Time
}

// Step is what to do now. Every cluster that is selected or has a status is in exactly one of Apply, Keep, Wait, TimedOut
// and Removed.
type Step struct {
	Phase Phase
	// Apply are the clusters to give the change now, in the order of the rollout.
	Apply []string
	// Keep are those that have been given the change, to be left as they are: under way, watched, failing, done or
	// skipped; in the order of the rollout.
	Keep []string
	// Wait are those that do not get the change yet, to be left as they are; in the order of the rollout.
	Wait []string
	// TimedOut are those that were given up, to be left as they are; in the order of the rollout.
	TimedOut []string
	// Removed have a status and are selected no longer, sorted: what was applied to them goes.
	Removed []string
	// Verdicts has every cluster with its code: in the order of the rollout, then those removed.
	Verdicts []Verdict

	// Group is the first group that is not done; that with NoIndex where all are.
	Group decision.GroupKey
	// Total is how many clusters are selected, InFlight how many hold a place after this step, Failures how many are
	// failing or timed out.
	Total, InFlight, Failures int
	// MaxConcurrency is how many clusters may hold a place; Total where the type knows no limit.
	MaxConcurrency int
	// Until is the next instant at which the step may be another though no status changed; zero where there is none.
	Until time.Time
	// Unmatched are the mandatory, required and approved groups of the strategy that the placement does not have, in its
	// order. They hold nothing up; a misspelt name is found here.
	Unmatched []clusterv1alpha1.MandatoryDecisionGroup
	// Errors says what of the strategy cannot be followed, where it is, and what to write instead.
	Errors field.ErrorList
}

// Ended says whether nothing happens any more unless somebody intervenes or a cluster changes by itself.
func (s Step) Ended() bool {
	return s.Phase == PhaseFinished || s.Phase == PhaseEmpty || s.Phase == PhaseBreached && s.InFlight == 0
}
