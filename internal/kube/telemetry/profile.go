package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// The kinds that the controller profile writes, as labels of metrics.
const (
	KindProfile         = "ClusterProfile"
	KindProfileDecision = "PlacementDecision"
)

// Reasons and actions of the events of the controller profile.
const (
	// ReasonManagedElsewhere is on a ClusterProfile or a Placement: an object that Berth would write belongs to another client.
	ReasonManagedElsewhere = "ManagedElsewhere"
	// ActionProfileLeft goes with it.
	ActionProfileLeft = "Left"
	// ReasonDecisionIncomplete is on a Placement: its decision stays incomplete, so that Berth does not publish it. ActionDecisionKept goes with it.
	ReasonDecisionIncomplete = "DecisionIncomplete"
	ActionDecisionKept       = "DecisionKept"
)

// The results of a write of the controller profile.
const (
	profileSucceeded = "succeeded"
	profileFailed    = "failed"
)

// Profiles are the metrics of the controller that writes inventories.
type Profiles struct {
	writes *prometheus.CounterVec
}

// NewProfiles registers the metrics, with every series at 0. It must be called once per registry. Each scrape calls blocked, which
// returns the number of profiles that are not written, because another cluster manager has them.
func NewProfiles(registry prometheus.Registerer, blocked func() int) *Profiles {
	set := &Set{}
	out := newProfiles(set, blocked)
	set.Register(registry)
	for _, kind := range []string{KindProfile, KindProfileDecision} {
		for _, result := range []string{profileSucceeded, profileFailed} {
			out.writes.WithLabelValues(kind, result)
		}
	}
	return out
}

func newProfiles(set *Set, blocked func() int) *Profiles {
	kind := Label{Name: "kind", Values: []string{KindProfile, KindProfileDecision}}
	result := Label{Name: "result", Values: []string{profileSucceeded, profileFailed}}
	set.Scraped("berth_profiles_blocked", "ClusterProfiles that are not written, because another cluster manager has one of this name in the namespace.",
		func(emit Emit) { emit(float64(blocked())) })
	return &Profiles{writes: set.Counter("berth_profile_writes_total", "Attempted writes of ClusterProfiles and of PlacementDecisions in the group multicluster.x-k8s.io.", kind, result)}
}

// Wrote counts an attempted write.
func (p *Profiles) Wrote(kind string, err error) {
	result := profileSucceeded
	if err != nil {
		result = profileFailed
	}
	p.writes.WithLabelValues(kind, result).Inc()
}

// ProfileBlockedEvent returns the event of a ClusterProfile of another cluster manager, which has the name of a cluster.
func ProfileBlockedEvent(manager, own string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonManagedElsewhere, ActionProfileLeft,
		"The cluster manager %s writes no profile of the cluster here: this profile belongs to %q and is left as it is. "+
			"Remove it, or remove the binding of the set in this namespace", own, manager)
}

// DecisionBlockedEvent returns the event of a Placement whose decision another client has under the same name.
func DecisionBlockedEvent(name string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonManagedElsewhere, ActionProfileLeft,
		"The decision is not written for readers of multicluster.x-k8s.io: PlacementDecision %s in this group belongs to another client. Remove it", name)
}

// DecisionIncompleteEvent returns the event of a Placement whose decision stays incomplete.
func DecisionIncompleteEvent(obstacle string) Event {
	return NewEvent(corev1.EventTypeWarning, ReasonDecisionIncomplete, ActionDecisionKept,
		"The PlacementDecisions of multicluster.x-k8s.io stay as they are, because the decision of the placement is not complete. "+
			"Check that a manager with the controller placement runs, and that no other client writes PlacementDecisions of the placement: %s", obstacle)
}
