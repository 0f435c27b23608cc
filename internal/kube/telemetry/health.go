package telemetry

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons and actions of the events about health, on a ManagedCluster and on the set `global`.
const (
	ReasonAvailable             = "Available"
	ReasonUnavailable           = "Unavailable"
	ReasonAvailableUnknown      = "AvailableUnknown"
	ReasonHealthSuspended       = "HealthSuspended"
	ReasonHealthResumed         = "HealthResumed"
	ReasonClockOutOfSync        = "ClockOutOfSync"
	ReasonClockSynced           = "ClockSynced"
	ReasonManagerClockSuspected = "ManagerClockSuspected"
	ReasonManagerClockTrusted   = "ManagerClockTrusted"

	ActionHealthReported  = "HealthReported"
	ActionHealthSuspended = "HealthSuspended"
	ActionHealthResumed   = "HealthResumed"
	ActionClockCompared   = "ClockCompared"
)

// The reported health of a cluster, and the last part of the keys of health taints.
const (
	available   = "available"
	unavailable = "unavailable"
	unreachable = "unreachable"
	unreported  = "unreported"
	denied      = "denied"

	added   = "added"
	removed = "removed"
)

// HealthState is the state of the health controller: the clusters by reported health, and whether reporting is suspended.
type HealthState struct {
	Available, Unavailable, Unreachable, Unreported int

	Suspended bool
	// ClockSuspected is true while most clusters are skewed in the same direction.
	ClockSuspected bool
	// UnjoinedSelected is how many selected clusters never joined or are denied. While it is above 0, no such cluster is tainted.
	UnjoinedSelected int
	// EvictionsHeld is how many clusters keep the objects of works that the hub has lost.
	EvictionsHeld int
}

// Health are the metrics of the health controller. It is a prometheus.Collector for its state.
type Health struct {
	state                      func() HealthState
	clusters, suspended, clock *prometheus.Desc
	unjoinedSelected, held     *prometheus.Desc
	taints                     *prometheus.CounterVec
}

// NewHealth registers the metrics. It must be called once per registry. Each scrape calls state.
func NewHealth(registry prometheus.Registerer, state func() HealthState) *Health {
	set := &Set{}
	h := newHealth(set, state)
	set.Add(h)
	set.Register(registry)
	for _, taint := range []string{unreachable, unavailable, denied} {
		h.taints.WithLabelValues(taint, added)
		h.taints.WithLabelValues(taint, removed)
	}
	return h
}

func newHealth(set *Set, state func() HealthState) *Health {
	return &Health{
		state: state,
		clusters: set.Collected("berth_clusters",
			"ManagedClusters by reported health: available, unavailable, unreachable or unreported.",
			Label{Name: "health", Values: []string{available, unavailable, unreachable, unreported}}),
		suspended: set.Collected("berth_health_suspended",
			"1 while so many clusters are silent that the hub itself may be at fault, so that no further cluster is reported or tainted, else 0."),
		clock: set.Collected("berth_health_manager_clock_suspected",
			"1 while the clocks of most clusters differ from the clock of the manager in the same direction by more than five lease periods, else 0."),
		unjoinedSelected: set.Collected("berth_health_unjoined_selected",
			"ManagedClusters that were selected at the start although they never joined or are denied. While it is above 0, no such cluster is tainted unless --taint-unjoined is set."),
		held: set.Collected("berth_clusters_evictions_held",
			"ManagedClusters with the condition WorkEvictionHeld: the objects of works stay there, although the hub has lost the works."),
		taints: set.Counter("berth_health_taints_total",
			"Health taints that were added or removed, by key without its domain.",
			Label{Name: "taint", Values: []string{unreachable, unavailable, denied}}, Label{Name: "change", Values: []string{added, removed}}),
	}
}

// Describe implements prometheus.Collector.
func (h *Health) Describe(to chan<- *prometheus.Desc) {
	to <- h.clusters
	to <- h.suspended
	to <- h.clock
	to <- h.unjoinedSelected
	to <- h.held
}

// Collect implements prometheus.Collector.
func (h *Health) Collect(to chan<- prometheus.Metric) {
	state := h.state()
	for health, count := range map[string]int{
		available: state.Available, unavailable: state.Unavailable, unreachable: state.Unreachable, unreported: state.Unreported,
	} {
		to <- prometheus.MustNewConstMetric(h.clusters, prometheus.GaugeValue, float64(count), health)
	}
	to <- prometheus.MustNewConstMetric(h.suspended, prometheus.GaugeValue, BoolValue(state.Suspended))
	to <- prometheus.MustNewConstMetric(h.clock, prometheus.GaugeValue, BoolValue(state.ClockSuspected))
	to <- prometheus.MustNewConstMetric(h.unjoinedSelected, prometheus.GaugeValue, float64(state.UnjoinedSelected))
	to <- prometheus.MustNewConstMetric(h.held, prometheus.GaugeValue, float64(state.EvictionsHeld))
}

// AddTaints counts the keys of the taints that were added to a cluster and removed from it.
func (h *Health) AddTaints(addedKeys, removedKeys []string) {
	for change, keys := range map[string][]string{added: addedKeys, removed: removedKeys} {
		for _, key := range keys {
			h.taints.WithLabelValues(key[strings.LastIndex(key, "/")+1:], change).Inc()
		}
	}
}

// HealthEvent returns the event of a change of a cluster's health. Ok is false if nothing is reported.
func HealthEvent(cluster string, status metav1.ConditionStatus) (event Event, ok bool) {
	event = Event{Type: corev1.EventTypeWarning, Action: ActionHealthReported}
	switch status {
	case metav1.ConditionTrue:
		event.Type, event.Reason, event.Note = corev1.EventTypeNormal, ReasonAvailable, "is available"
	case metav1.ConditionFalse:
		event.Reason, event.Note = ReasonUnavailable, "reports that it is not available"
	case metav1.ConditionUnknown:
		event.Reason, event.Note = ReasonAvailableUnknown, "stopped updating its lease: its availability is unknown"
	default:
		return Event{}, false
	}
	event.Note = fmt.Sprintf("ManagedCluster %s %s", cluster, event.Note)
	return event, true
}

// SuspensionEvent returns the event of the condition HealthSuspended.
func SuspensionEvent(condition metav1.Condition) Event {
	if condition.Status == metav1.ConditionTrue {
		return NewEvent(corev1.EventTypeWarning, ReasonHealthSuspended, ActionHealthSuspended, "%s", condition.Message)
	}
	return NewEvent(corev1.EventTypeNormal, ReasonHealthResumed, ActionHealthResumed, "%s", condition.Message)
}

// ClusterClockEvent returns the event of the condition ClockSynced of a cluster.
func ClusterClockEvent(cluster string, status metav1.ConditionStatus) Event {
	if status == metav1.ConditionFalse {
		return Event{
			Type: corev1.EventTypeWarning, Reason: ReasonClockOutOfSync, Action: ActionClockCompared,
			Note: fmt.Sprintf("The clock of ManagedCluster %s differs from the clock of the hub by more than five lease periods. Set the clock of the cluster; its conditions and taints stay as they are", cluster),
		}
	}
	return Event{
		Type: corev1.EventTypeNormal, Reason: ReasonClockSynced, Action: ActionClockCompared,
		Note: fmt.Sprintf("The clock of ManagedCluster %s agrees with the clock of the hub", cluster),
	}
}

// ManagerClockEvent returns the event about the clock of the manager. direction is above 0 if the clocks of the skewed clusters are
// ahead, below 0 if they are behind, and 0 if most clocks agree again.
func ManagerClockEvent(direction, skewed, measured int) Event {
	event := Event{Type: corev1.EventTypeWarning, Reason: ReasonManagerClockSuspected, Action: ActionClockCompared}
	side := "behind"
	switch {
	case direction == 0:
		event.Type, event.Reason = corev1.EventTypeNormal, ReasonManagerClockTrusted
		event.Note = "The clocks of most ManagedClusters agree with the clock of the manager again"
		return event
	case direction > 0:
		side = "ahead of"
	}
	event.Note = fmt.Sprintf("The clocks of %d of %d ManagedClusters are %s the clock of the manager by more than five lease periods, so the clock of the manager "+
		"is probably wrong. No condition ClockSynced is written. Set the clock of the manager's host", skewed, measured, side)
	return event
}
