package addoninstall

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	addonv1alpha1 "github.com/berth-project/berth/api/addon/v1alpha1"
	"github.com/berth-project/berth/internal/addon"
	"github.com/berth-project/berth/internal/apply"
	"github.com/berth-project/berth/internal/pacing"
	"github.com/berth-project/berth/internal/telemetry"
	"github.com/berth-project/berth/rollout"
)

// addOnState is what the process holds of one add-on between two passes. One pass of an add-on runs at a time; its writes run concurrently.
type addOnState struct {
	memory pacing.Memory[*addonv1alpha1.ManagedClusterAddOn]
	faults apply.Faults

	// started is when the process met the add-on.
	started time.Time

	mu sync.Mutex
	// own is the add-on as this process last stored it; nil without a write.
	own *addonv1alpha1.ClusterManagementAddOn
	// removals are when the add-on was removed from a cluster, within addon.RemovalWindow.
	removals []time.Time
	// observed is what the metrics report of the last plan.
	observed telemetry.AddOnState
	// reported is when the status was last written.
	reported time.Time
}

// latest returns the add-on as it is most probably stored: the cached one, or the last own write until the cache shows it.
func (s *addOnState) latest(cached *addonv1alpha1.ClusterManagementAddOn) *addonv1alpha1.ClusterManagementAddOn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own != nil && s.own.UID == cached.UID {
		if order, err := resourceversion.CompareResourceVersion(s.own.ResourceVersion, cached.ResourceVersion); err == nil && order > 0 {
			return s.own
		}
	}
	s.own = nil
	return cached
}

func (s *addOnState) stored(addOn *addonv1alpha1.ClusterManagementAddOn, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own, s.reported = addOn, now
}

func (s *addOnState) reportedAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reported
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
	s.removals = slices.DeleteFunc(s.removals, func(at time.Time) bool { return now.Sub(at) >= addon.RemovalWindow })
	return slices.Clone(s.removals)
}

// observe records what the metrics report of a plan.
func (s *addOnState) observe(out addon.Result) {
	state := telemetry.AddOnState{Rollouts: map[rollout.Phase]int{}, Clusters: map[rollout.State]int{}}
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

// observed adds up what was recorded of all add-ons.
func (r *reconciler) observed() telemetry.AddOnState {
	out := telemetry.AddOnState{Rollouts: map[rollout.Phase]int{}, Clusters: map[rollout.State]int{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.addOns {
		s.mu.Lock()
		for phase, count := range s.observed.Rollouts {
			out.Rollouts[phase] += count
		}
		for state, count := range s.observed.Clusters {
			out.Clusters[state] += count
		}
		s.mu.Unlock()
	}
	return out
}
