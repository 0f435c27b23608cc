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
	ReasonAvailable        = "Available"
	ReasonUnavailable      = "Unavailable"
	ReasonAvailableUnknown = "AvailableUnknown"
	ReasonHealthSuspended  = "HealthSuspended"
	ReasonHealthResumed    = "HealthResumed"

	ActionHealthReported  = "HealthReported"
	ActionHealthSuspended = "HealthSuspended"
	ActionHealthResumed   = "HealthResumed"
)

// What is reported of a cluster's health. The last part of a taint's key is one of them.
const (
	available   = "available"
	unavailable = "unavailable"
	unreachable = "unreachable"
	unreported  = "unreported"
)

// HealthState is what the health controller knows at one instant: how many clusters are reported how, and whether it
// suspects the hub.
type HealthState struct {
	Available, Unavailable, Unreachable, Unreported int

	Suspended bool
}

// Health counts what the health controller does, and shows what it knows. It is a prometheus.Collector.
type Health struct {
	state               func() HealthState
	clusters, suspended *prometheus.Desc
	taints              *prometheus.CounterVec
}

// NewHealth makes the metrics and registers them. It must be called once per registry. State is asked whenever they are
// read.
func NewHealth(registry prometheus.Registerer, state func() HealthState) *Health {
	c := &catalogue{}
	h := newHealth(c, state)
	registry.MustRegister(append(c.collectors, h)...)
	for _, taint := range []string{unreachable, unavailable} {
		h.taints.WithLabelValues(taint, added)
		h.taints.WithLabelValues(taint, removed)
	}
	return h
}

func newHealth(c *catalogue, state func() HealthState) *Health {
	return &Health{
		state: state,
		clusters: c.asked("berth_clusters",
			"ManagedClusters by what is reported of their health: available, unavailable, unreachable or unreported.",
			Label{"health", []string{available, unavailable, unreachable, unreported}}),
		suspended: c.asked("berth_health_suspended",
			"1 while so many clusters are silent that the hub is suspected and nobody is newly reported or tainted, else 0."),
		taints: c.counter("berth_health_taints_total",
			"Taints about health that were written, by key without its domain and by change: added or removed.",
			Label{"taint", []string{unreachable, unavailable}}, Label{"change", []string{added, removed}}),
	}
}

// Describe implements prometheus.Collector.
func (h *Health) Describe(to chan<- *prometheus.Desc) {
	to <- h.clusters
	to <- h.suspended
}

// Collect implements prometheus.Collector.
func (h *Health) Collect(to chan<- prometheus.Metric) {
	state := h.state()
	for health, count := range map[string]int{
		available: state.Available, unavailable: state.Unavailable, unreachable: state.Unreachable, unreported: state.Unreported,
	} {
		to <- prometheus.MustNewConstMetric(h.clusters, prometheus.GaugeValue, float64(count), health)
	}
	suspended := 0.0
	if state.Suspended {
		suspended = 1
	}
	to <- prometheus.MustNewConstMetric(h.suspended, prometheus.GaugeValue, suspended)
}

// Tainted records the keys of taints that were put on a cluster, and of those that were taken from it.
func (h *Health) Tainted(put, taken []string) {
	for change, keys := range map[string][]string{added: put, removed: taken} {
		for _, key := range keys {
			h.taints.WithLabelValues(key[strings.LastIndex(key, "/")+1:], change).Inc()
		}
	}
}

// DescribeHealth returns the event that a change of a cluster's health is worth. Ok is false where nothing is reported.
func DescribeHealth(cluster string, status metav1.ConditionStatus) (event Event, ok bool) {
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

// DescribeSuspicion returns the event that goes with the condition about the suspicion of the hub.
func DescribeSuspicion(condition metav1.Condition) Event {
	if condition.Status == metav1.ConditionTrue {
		return Event{Type: corev1.EventTypeWarning, Reason: ReasonHealthSuspended, Action: ActionHealthSuspended, Note: cut(condition.Message)}
	}
	return Event{Type: corev1.EventTypeNormal, Reason: ReasonHealthResumed, Action: ActionHealthResumed, Note: cut(condition.Message)}
}
