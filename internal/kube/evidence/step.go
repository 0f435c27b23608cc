package evidence

import (
	"cmp"
	"strings"
	"time"

	"github.com/berth-project/berth/internal/kube/phrase"
	"github.com/berth-project/berth/rollout"
)

// Waits reports whether a cluster waits for its turn. Until then it has what it had, and a new one what all others had.
func Waits(code rollout.Code) bool {
	switch code {
	case rollout.WaitsForPlace, rollout.WaitsForGroup, rollout.WaitsForProof, rollout.WaitsForApproval, rollout.WaitsForResume,
		rollout.WaitsForRepair, rollout.WaitsForStrategy, rollout.WaitsForDecision:
		return true
	default:
		return false
	}
}

// Freeze lets no cluster of a step start. The clusters that would start get the code.
func Freeze(step *rollout.Step, phase rollout.Phase, code rollout.Code) {
	step.Wait = append(step.Wait, step.Apply...)
	step.InFlight -= len(step.Apply)
	step.Apply, step.Phase = nil, phase
	for i := range step.Verdicts {
		if step.Verdicts[i].Code == rollout.Starting {
			step.Verdicts[i].Code = code
		}
	}
}

// Unmatched returns the end of a message about a step: the groups of its strategy that the placement does not have; empty without any.
func Unmatched(step rollout.Step) string {
	if len(step.Unmatched) == 0 {
		return ""
	}
	var names []string
	for _, to := range step.Unmatched {
		names = append(names, rollout.Reference(to))
	}
	return "; no such group: " + strings.Join(names[:min(len(names), phrase.MaxNames)], ", ")
}

// PhaseOrder orders phases, the most urgent for a user first.
func PhaseOrder(a, b rollout.Phase) int {
	rank := map[rollout.Phase]int{
		rollout.PhaseMisconfigured: 0, rollout.PhaseBreached: 1, rollout.PhaseFailed: 2, rollout.PhaseUndecided: 3, rollout.PhasePaused: 4,
		rollout.PhaseUnproven: 5, rollout.PhaseMissing: 6, rollout.PhaseUnapproved: 7, rollout.PhaseAdvancing: 8, rollout.PhaseWaiting: 9,
		rollout.PhaseSoaking: 10, rollout.PhaseFinished: 11, rollout.PhaseEmpty: 12,
	}
	return cmp.Compare(rank[a], rank[b])
}

// Fault is why the last write for a cluster was not stored.
type Fault struct {
	// Hash is the hash of what the write would have stored. A fault of another hash does not count.
	Hash string
	// Permanent means that the API server refused the object itself, so that the cluster has failed. Any other fault delays the cluster.
	Permanent bool
	// Message is the answer of the API server, without values of manifests.
	Message string
	// Since is when the write failed first, Retry when it is sent again.
	Since, Retry time.Time
}

// Delays reports whether the write must not be sent again yet.
func (f *Fault) Delays(now time.Time) bool { return f != nil && now.Before(f.Retry) }
