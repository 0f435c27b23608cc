package rollout

import (
	"time"

	clusterv1alpha1 "github.com/berth-project/berth/api/cluster/v1alpha1"
	"github.com/berth-project/berth/decision"
)

// Evidence is what a rollout has shown that its clusters do not show any more: what left, and what was passed. The zero value is that of
// a caller without a memory.
type Evidence struct {
	// Total is how many clusters were selected when the rollout began: a percentage of maxFailures is of it. 0 stands for those of now.
	Total int
	// Lost counts the clusters that started with the change and were no longer selected before they succeeded, by group. They count as
	// failures.
	Lost map[decision.GroupKey]int
	// Gates are the mandatory groups in their order, in place of those of the strategy. nil stands for those of the strategy: one is then
	// passed when its clusters are done, and a group that does not exist is passed.
	Gates []Gate
	// InFlightLimit bounds maxConcurrency of ordered types; 0 for no bound.
	InFlightLimit int
	// Breached means that another rollout of the same change is breached.
	Breached bool
	// Finished means that the rollout had finished: failures breach nothing from then on.
	Finished bool
}

// Gate is a mandatory group, and whether later groups may start.
type Gate struct {
	Group  clusterv1alpha1.MandatoryDecisionGroup
	Passed bool
	// Proving means that a cluster which can prove the change is under way in another rollout of it.
	Proving bool
}

// Next is the function Next for a caller with a memory.
func (e Evidence) Next(strategy *clusterv1alpha1.RolloutStrategy, groups Groups, statuses []Status, now time.Time) Step {
	return next(strategy, groups, statuses, e, now)
}

// Pace is the part of a strategy that records when a cluster counts as done or late.
type Pace struct {
	// MinSuccessTime is how long a cluster must have succeeded; 0 for type All.
	MinSuccessTime time.Duration
	// Deadline is how long a cluster may be under way; 0 for no deadline. An invalid strategy has none.
	Deadline time.Duration
}

// PaceOf returns the pace of a strategy.
func PaceOf(strategy *clusterv1alpha1.RolloutStrategy) Pace {
	r, errs := compile(strategy, nil)
	if len(errs) > 0 {
		r.deadline = never
	}
	out := Pace{MinSuccessTime: r.minSuccessTime}
	if r.deadline != never {
		out.Deadline = max(r.deadline, time.Nanosecond)
	}
	return out
}

// MandatoryGroups returns the mandatory groups of a strategy; none for type All.
func MandatoryGroups(strategy *clusterv1alpha1.RolloutStrategy) []clusterv1alpha1.MandatoryDecisionGroup {
	r, _ := compile(strategy, nil)
	return r.mandatory
}

// RefersTo reports whether a reference is to a group.
func RefersTo(to clusterv1alpha1.MandatoryDecisionGroup, key decision.GroupKey) bool {
	return refersTo(to, key)
}
