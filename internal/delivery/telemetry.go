package delivery

import (
	workv1alpha1 "github.com/berth-project/berth/api/work/v1alpha1"
	"github.com/berth-project/berth/internal/delivery/plan"
	"github.com/berth-project/berth/internal/delivery/report"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

// observe records what the metrics report of a plan.
func (s *setState) observe(out plan.Result, held int) {
	state := telemetry.DeliveryState{Held: held, Holds: map[hold.Type]int{}}
	for _, h := range report.Holds(&workv1alpha1.ManifestWorkReplicaSet{Status: out.Status}) {
		state.Holds[h.Type]++
	}
	for _, step := range out.Rollouts {
		state.AddRollout(step.Phase)
	}
	for _, verdict := range out.Verdicts {
		if verdict.Placement != "" {
			state.AddCluster(verdict.State)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observed = state
}

// deliveryState adds up what was recorded of all sets.
func (r *reconciler) deliveryState() telemetry.DeliveryState {
	out := telemetry.DeliveryState{Holds: map[hold.Type]int{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sets {
		s.mu.Lock()
		out.Add(s.observed.RolloutState)
		out.Held += s.observed.Held
		for kind, count := range s.observed.Holds {
			out.Holds[kind] += count
		}
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
