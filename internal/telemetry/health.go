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

// What is reported of a cluster's health. The last part of a taint's key is one of them.
const (
	available   = "available"
	unavailable = "unavailable"
	unreachable = "unreachable"
	unreported  = "unreported"
	denied      = "denied"
)

// HealthState is what the health controller knows at one instant: how many clusters are reported how, and whether it
// suspects the hub.
type HealthState struct {
	Available, Unavailable, Unreachable, Unreported int

	Suspended bool
	// ClockSuspected is true while most clusters are skewed alike.
	ClockSuspected bool
	// UnjoinedSelected is how many clusters that never joined or are denied are selected, so that no such cluster is tainted.
	UnjoinedSelected int
}

// Health counts what the health controller does, and shows what it knows. It is a prometheus.Collector.
type Health struct {
	state                      func() HealthState
	clusters, suspended, clock *prometheus.Desc
	unjoinedSelected           *prometheus.Desc
	taints                     *prometheus.CounterVec
}

// NewHealth makes the metrics and registers them. It must be called once per registry. State is asked whenever they are
// read.
func NewHealth(registry prometheus.Registerer, state func() HealthState) *Health {
	c := &metricSet{}
	h := newHealth(c, state)
	registry.MustRegister(append(c.collectors, h)...)
	for _, taint := range []string{unreachable, unavailable, denied} {
		h.taints.WithLabelValues(taint, added)
		h.taints.WithLabelValues(taint, removed)
	}
	return h
}

func newHealth(c *metricSet, state func() HealthState) *Health {
	return &Health{
		state: state,
		clusters: c.collected("berth_clusters",
			"ManagedClusters by what is reported of their health: available, unavailable, unreachable or unreported.",
			Label{Name: "health", Values: []string{available, unavailable, unreachable, unreported}}),
		suspended: c.collected("berth_health_suspended",
			"1 while so many clusters are silent that the hub is suspected and nobody is newly reported or tainted, else 0."),
		clock: c.collected("berth_health_manager_clock_suspected",
			"1 while the clocks of most clusters differ alike from the manager's by more than five lease periods, so that the manager's is suspected, else 0."),
		unjoinedSelected: c.collected("berth_health_unjoined_selected",
			"ManagedClusters that never joined or are denied and were selected at the start, so that no such cluster is tainted until --taint-unjoined is given."),
		taints: c.counter("berth_health_taints_total",
			"Taints about health that were written, by key without its domain and by change: added or removed.",
			Label{Name: "taint", Values: []string{unreachable, unavailable, denied}}, Label{Name: "change", Values: []string{added, removed}}),
	}
}

// Describe implements prometheus.Collector.
func (h *Health) Describe(to chan<- *prometheus.Desc) {
	to <- h.clusters
	to <- h.suspended
	to <- h.clock
	to <- h.unjoinedSelected
}

// Collect implements prometheus.Collector.
func (h *Health) Collect(to chan<- prometheus.Metric) {
	state := h.state()
	for health, count := range map[string]int{
		available: state.Available, unavailable: state.Unavailable, unreachable: state.Unreachable, unreported: state.Unreported,
	} {
		to <- prometheus.MustNewConstMetric(h.clusters, prometheus.GaugeValue, float64(count), health)
	}
	to <- prometheus.MustNewConstMetric(h.suspended, prometheus.GaugeValue, boolValue(state.Suspended))
	to <- prometheus.MustNewConstMetric(h.clock, prometheus.GaugeValue, boolValue(state.ClockSuspected))
	to <- prometheus.MustNewConstMetric(h.unjoinedSelected, prometheus.GaugeValue, float64(state.UnjoinedSelected))
}

func boolValue(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// AddTaints records the keys of taints that were put on a cluster, and of those that were taken from it.
func (h *Health) AddTaints(put, taken []string) {
	for change, keys := range map[string][]string{added: put, removed: taken} {
		for _, key := range keys {
			h.taints.WithLabelValues(key[strings.LastIndex(key, "/")+1:], change).Inc()
		}
	}
}

// HealthEvent returns the event that a change of a cluster's health is worth. Ok is false where nothing is reported.
func HealthEvent(cluster string, status metav1.ConditionStatus) (event Event, ok bool) {
	event = Event{Type: corev1.EventTypeWarning, Action: ActionHealthReported}
	switch status {
	case metav1.ConditionTrue:
		event.Type, event.Reason, event.Note = corev1.EventTypeNormal, ReasonAvailable, "is available"
	case metav1.ConditionFalse:
		event.Reason, event.Note = ReasonUnavailable, "reports that it is not available"
	case metav1.ConditionUnknown:
		event.Reason, event.Note = ReasonAvailableUnknown, "has stopped updating its lease: nobody knows whether it is available"
	default:
		return Event{}, false
	}
	event.Note = fmt.Sprintf("ManagedCluster %s %s", cluster, event.Note)
	return event, true
}

// SuspensionEvent returns the event that goes with the condition about the suspicion of the hub.
func SuspensionEvent(condition metav1.Condition) Event {
	if condition.Status == metav1.ConditionTrue {
		return Event{Type: corev1.EventTypeWarning, Reason: ReasonHealthSuspended, Action: ActionHealthSuspended, Note: truncate(condition.Message)}
	}
	return Event{Type: corev1.EventTypeNormal, Reason: ReasonHealthResumed, Action: ActionHealthResumed, Note: truncate(condition.Message)}
}

// ClusterClockEvent returns the event that goes with a change of the condition ClockSynced of a cluster.
func ClusterClockEvent(cluster string, status metav1.ConditionStatus) Event {
	if status == metav1.ConditionFalse {
		return Event{
			Type: corev1.EventTypeWarning, Reason: ReasonClockOutOfSync, Action: ActionClockCompared,
			Note: fmt.Sprintf("The clock of ManagedCluster %s differs from the hub's by more than five lease periods; the cluster stays as it is", cluster),
		}
	}
	return Event{
		Type: corev1.EventTypeNormal, Reason: ReasonClockSynced, Action: ActionClockCompared,
		Note: fmt.Sprintf("The clock of ManagedCluster %s agrees with the hub's", cluster),
	}
}

// ManagerClockEvent returns the event about the clock of the manager: suspected where so many of the clusters that were
// measured are skewed in one direction (above 0: ahead), trusted where the direction is 0.
func ManagerClockEvent(direction, skewed, measured int) Event {
	event := Event{Type: corev1.EventTypeWarning, Reason: ReasonManagerClockSuspected, Action: ActionClockCompared}
	side := "behind"
	switch {
	case direction == 0:
		event.Type, event.Reason = corev1.EventTypeNormal, ReasonManagerClockTrusted
		event.Note = "The clocks of most ManagedClusters agree with the manager's again"
		return event
	case direction > 0:
		side = "ahead of"
	}
	event.Note = fmt.Sprintf("The clocks of %d of %d ManagedClusters are %s the manager's by more than five lease periods: "+
		"the manager's clock is suspected, so that no condition ClockSynced is written. Set the clock of the manager's host", skewed, measured, side)
	return event
}
