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
	h := &Health{
		state: state,
		clusters: prometheus.NewDesc("berth_clusters",
			"ManagedClusters by what is reported of their health: available, unavailable, unreachable or unreported.", []string{"health"}, nil),
		suspended: prometheus.NewDesc("berth_health_suspended",
			"1 while so many clusters are silent that the hub is suspected and nobody is newly reported or tainted, else 0.", nil, nil),
		taints: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_health_taints_total",
			Help: "Taints about health that were written, by key without its domain and by change: added or removed.",
		}, []string{"taint", "change"}),
	}
	registry.MustRegister(h, h.taints)
	return h
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
		"available": state.Available, "unavailable": state.Unavailable, "unreachable": state.Unreachable, "unreported": state.Unreported,
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
func (h *Health) Tainted(added, removed []string) {
	for change, keys := range map[string][]string{"added": added, "removed": removed} {
		for _, key := range keys {
			h.taints.WithLabelValues(key[strings.LastIndex(key, "/")+1:], change).Inc()
		}
	}
}

// DescribeHealth returns the event that a change of a cluster's health is worth. Ok is false where nothing is reported.
func DescribeHealth(cluster string, available metav1.ConditionStatus) (event Event, ok bool) {
	event = Event{Type: corev1.EventTypeWarning, Action: ActionHealthReported}
	switch available {
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
