package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
)

// Code is what happens to a cluster, and why. The codes are stable: callers may store and compare them.
type Code string

// pending marks a cluster without the change until Next has found whether it starts or what it waits for.
const pending Code = ""

const (
	// Starting means that the cluster gets the change now.
	Starting Code = "Starting"

	// UnderWay means that the cluster was given the change and has not taken it yet. It counts towards maxConcurrency, and its
	// group is not done.
	UnderWay Code = "UnderWay"
	// Soaking means that the cluster took the change less than minSuccessTime ago. It counts towards maxConcurrency.
	Soaking Code = "Soaking"
	// Failing means that the cluster failed and its deadline has not passed. It counts as a failure until it recovers, does
	// not count towards maxConcurrency, and its group does not wait for it.
	Failing Code = "Failing"
	// Done means that the cluster has taken the change.
	Done Code = "Done"
	// Skipped means that the caller left the cluster out.
	Skipped Code = "Skipped"

	// TimedOut means that the deadline passed before the cluster took the change. It counts as a failure, and its group does
	// not wait for it.
	TimedOut Code = "TimedOut"

	// WaitsForPlace means that maxConcurrency clusters are under way.
	WaitsForPlace Code = "WaitsForPlace"
	// WaitsForGroup means that an earlier group is not done.
	WaitsForGroup Code = "WaitsForGroup"
	// WaitsForProof means that a mandatory group has no cluster left that can prove the change: it is empty, does not exist, or all that
	// started in it were left out or left.
	WaitsForProof Code = "WaitsForProof"
	// WaitsForApproval means that the cluster's group is not approved.
	WaitsForApproval Code = "WaitsForApproval"
	// WaitsForResume means that the rollout is paused.
	WaitsForResume Code = "WaitsForResume"
	// WaitsForRepair means that more clusters failed than maxFailures.
	WaitsForRepair Code = "WaitsForRepair"
	// WaitsForStrategy means that the strategy is invalid.
	WaitsForStrategy Code = "WaitsForStrategy"
	// WaitsForDecision means that the placement has no decision, so it is unknown whether the cluster is selected.
	WaitsForDecision Code = "WaitsForDecision"

	// Left means that the cluster is no longer selected.
	Left Code = "Left"
)

// Codes lists every code.
func Codes() []Code {
	return []Code{
		Starting, UnderWay, Soaking, Failing, Done, Skipped, TimedOut,
		WaitsForPlace, WaitsForGroup, WaitsForProof, WaitsForApproval, WaitsForResume, WaitsForRepair, WaitsForStrategy, WaitsForDecision, Left,
	}
}

// Phase is the state of a rollout as a whole. The first phase below that applies counts.
type Phase string

const (
	// PhaseMisconfigured means that the strategy is invalid: see Step.Errors. No cluster starts and no cluster times out.
	PhaseMisconfigured Phase = "Misconfigured"
	// PhaseUndecided means that there is no group. A placement that has decided has at least one group, which may be empty. So the
	// selection is unknown, and no cluster is removed.
	PhaseUndecided Phase = "Undecided"
	// PhaseEmpty means that the placement selects no cluster. It is not a success: nothing was rolled out.
	PhaseEmpty Phase = "Empty"
	// PhaseBreached means that more clusters failed than maxFailures. No cluster starts until enough have recovered, or maxFailures is
	// raised. For a caller without a memory it also ends when failed clusters leave.
	PhaseBreached Phase = "Breached"
	// PhaseFailed means that more clusters failed than maxFailures, or all of them, and that no cluster is left to start or under way.
	PhaseFailed Phase = "Failed"
	// PhaseAdvancing means that clusters start with this step.
	PhaseAdvancing Phase = "Advancing"
	// PhaseFinished means that every cluster has the change, was skipped, or failed within maxFailures. Where all were skipped the rollout has
	// ended, and nothing has succeeded.
	PhaseFinished Phase = "Finished"
	// PhasePaused means that the rollout is paused while clusters still have to start.
	PhasePaused Phase = "Paused"
	// PhaseWaiting means that clusters under way must succeed first.
	PhaseWaiting Phase = "Waiting"
	// PhaseSoaking means that all clusters under way have succeeded, and minSuccessTime has not passed.
	PhaseSoaking Phase = "Soaking"
	// PhaseUnproven means that no cluster is under way and that a mandatory group has no cluster left that can prove the change. A person must
	// pass it.
	PhaseUnproven Phase = "MandatoryGroupUnproven"
	// PhaseMissing means that nothing is left to do, and that clusters which have to get the change are not selected. A person may let the
	// rollout finish without them. Only a caller with a memory sets it.
	PhaseMissing Phase = "ClustersMissing"
	// PhaseUnapproved means that no cluster is under way and the next group waits for approval.
	PhaseUnapproved Phase = "Unapproved"
)

// Phases lists every phase.
func Phases() []Phase {
	return []Phase{
		PhaseMisconfigured, PhaseUndecided, PhaseEmpty, PhaseBreached, PhaseFailed, PhaseAdvancing, PhaseFinished, PhasePaused, PhaseWaiting,
		PhaseSoaking,
		PhaseUnproven, PhaseMissing, PhaseUnapproved,
	}
}

// Verdict is the code of one cluster.
type Verdict struct {
	Cluster string
	// Group is the group in which the cluster counts; its index is NoIndex for a cluster in no group.
	Group decision.GroupKey
	Code  Code
	// Failed means that the cluster failed earlier and has not succeeded since, whatever its code is.
	Failed bool
	// Forgiven means that the cluster is skipped because a person decided that its failure does not count.
	Forgiven bool
	// Closed means that a mandatory group before the group of a cluster that waits was not passed.
	Closed bool
	// Until is when minSuccessTime or the deadline ends; zero for other codes.
	Until time.Time
}

// Step is what to do now. Every cluster that is selected or has a status is in exactly one of Apply, Keep, Wait, TimedOut
// and Removed. The first four are in the order of the rollout.
type Step struct {
	Phase Phase
	// Apply has the clusters that get the change now.
	Apply []string
	// Keep has the clusters that were given the change: under way, soaking, failing, done or skipped. Leave them alone.
	Keep []string
	// Wait has the clusters that do not get the change yet. Leave them alone.
	Wait []string
	// TimedOut has the clusters whose deadline has passed. Leave them alone.
	TimedOut []string
	// Removed has the clusters with a status that are no longer selected, sorted. Take back what was applied to them.
	Removed []string
	// Verdicts has every cluster with its code: in the order of the rollout, then the removed ones.
	Verdicts []Verdict

	// Group is the first group that is not done; its index is NoIndex when all are done.
	Group decision.GroupKey
	// Unproven is the mandatory group that holds Group, as none of its clusters can prove the change; nil for none.
	Unproven *clusterv1alpha1.MandatoryDecisionGroup
	// Total counts the selected clusters, InFlight the clusters under way or soaking after this step, Failures the failing
	// and timed out ones.
	Total, InFlight, Failures int
	// Lost counts the clusters that started and were no longer selected before they succeeded. They are failures too, and no part of Total.
	Lost int
	// MaxFailures is how many of Base clusters, those at the start, may fail or be lost. Both are 0 where the limit is of each group.
	MaxFailures, Base int
	// Skipped counts the clusters that are left out, Forgiven those of them whose failure a person forgave.
	Skipped, Forgiven int
	// Breached means that more clusters failed than maxFailures, of those that started. Elsewhere means that another rollout of the same
	// change is breached.
	Breached, Elsewhere bool
	// Mandatory means that a cluster of a mandatory group failed, which maxFailures does not allow whatever it is.
	Mandatory bool
	// MaxConcurrency is the limit of InFlight; Total where the strategy type has no limit.
	MaxConcurrency int
	// Until is the next instant at which the step may change without a new status; zero for never.
	Until time.Time
	// Unmatched has the mandatory, required and approved groups of the strategy that the placement does not have, in the order
	// of the strategy. For a caller without a memory they block nothing; a misspelt name is found here.
	Unmatched []clusterv1alpha1.MandatoryDecisionGroup
	// Errors has the invalid fields of the strategy and what to write instead.
	Errors field.ErrorList
}

// Ended reports whether nothing more happens unless a user intervenes or a cluster changes its state.
func (s Step) Ended() bool {
	switch s.Phase {
	case PhaseFinished, PhaseFailed, PhaseEmpty, PhaseMissing:
		return true
	case PhaseBreached, PhaseUnproven:
		return s.InFlight == 0
	default:
		return false
	}
}

// RequeueAfter returns how long after now Next has to be called again if no status changes: at least a nanosecond, or 0 for
// never, as reconcile.Result of controller-runtime has it.
func (s Step) RequeueAfter(now time.Time) time.Duration {
	if s.Until.IsZero() {
		return 0
	}
	return max(1, s.Until.Sub(now))
}
