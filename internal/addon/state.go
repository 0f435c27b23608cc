package addon

import (
	"slices"
	"sync"
	"time"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/internal/addon/plan"
	"github.com/berth-project/berth/internal/kube/apply"
	"github.com/berth-project/berth/internal/kube/assumed"
	"github.com/berth-project/berth/internal/kube/member"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

// addOnState is what the process holds of one add-on between two passes. One pass of an add-on runs at a time; its writes run concurrently.
type addOnState struct {
	// installed and addOns have the writes to the add-on of a cluster, and to the add-on itself, that the cache does not show yet.
	installed assumed.Cache[*addonv1alpha1.ManagedClusterAddOn]
	addOns    assumed.Cache[*addonv1alpha1.ClusterManagementAddOn]
	faults    apply.Faults
	// members are the clusters that the rollouts are judged by.
	members member.Watch

	// started is when the process met the add-on. read means that it was read from the API server since.
	started time.Time
	read    bool

	mu sync.Mutex
	// removals are when the add-on was removed from a cluster, within plan.RemovalWindow.
	removals []time.Time
	// observed is what the metrics report of the last plan.
	observed telemetry.RolloutState
	// reported is when the status was last written.
	reported time.Time
}

func (s *addOnState) stored(addOn *addonv1alpha1.ClusterManagementAddOn, now time.Time) {
	s.addOns.Set(addOn, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported = now
}

// untilReport returns how long after an instant the next status may be stored; 0 or less for at once.
func (s *addOnState) untilReport(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reported.Add(statusInterval).Sub(now)
}

// removed records a removal, or one whose outcome is unknown.
func (s *addOnState) removed(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removals = append(s.removals, now)
}

// recentRemovals returns the removals within the window of the budget, and drops all others.
func (s *addOnState) recentRemovals(now time.Time) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removals = slices.DeleteFunc(s.removals, func(at time.Time) bool { return now.Sub(at) >= plan.RemovalWindow })
	return slices.Clone(s.removals)
}

// observe records what the metrics report of a plan.
func (s *addOnState) observe(out plan.Result) {
	state := telemetry.RolloutState{}
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

// observed adds up what was recorded of all add-ons.
func (r *reconciler) observed() telemetry.RolloutState {
	out := telemetry.RolloutState{}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.addOns {
		s.mu.Lock()
		out.Add(s.observed)
		s.mu.Unlock()
	}
	return out
}
