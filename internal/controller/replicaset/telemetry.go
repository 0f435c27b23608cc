package replicaset

import (
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/apply"
	"github.com/berth-project/berth/internal/delivery"
	"github.com/berth-project/berth/internal/telemetry"
	"github.com/berth-project/berth/rollout"
)

// observe records what the metrics report of a plan.
func (s *setState) observe(out delivery.Result, held int) {
	state := telemetry.DeliveryState{Rollouts: map[rollout.Phase]int{}, Clusters: map[rollout.State]int{}, Held: held}
	for _, step := range out.Rollouts {
		state.Rollouts[step.Phase]++
	}
	for _, verdict := range out.Verdicts {
		if verdict.Placement != "" {
			state.Clusters[verdict.State]++
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observed = state
}

// deliveryState adds up what was recorded of all sets.
func (r *reconciler) deliveryState() telemetry.DeliveryState {
	out := telemetry.DeliveryState{Rollouts: map[rollout.Phase]int{}, Clusters: map[rollout.State]int{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sets {
		s.mu.Lock()
		for phase, count := range s.observed.Rollouts {
			out.Rollouts[phase] += count
		}
		for state, count := range s.observed.Clusters {
			out.Clusters[state] += count
		}
		out.Held += s.observed.Held
		s.mu.Unlock()
	}
	return out
}

// recordEvents records the events of a stored status.
func (r *reconciler) recordEvents(set *workv1alpha1.ManifestWorkReplicaSet, after *workv1alpha1.ManifestWorkReplicaSetStatus) {
	for _, event := range telemetry.DeliveryEvents(&set.Status, after) {
		r.recorder.Eventf(set, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
}

// result returns the value of the label result for the outcome of a write.
func result(err error) string {
	switch {
	case err == nil:
		return telemetry.WorkStored
	case isConflict(err):
		return telemetry.WorkConflict
	case apply.Refused(err):
		return telemetry.WorkRefused
	default:
		return telemetry.WorkFailed
	}
}
