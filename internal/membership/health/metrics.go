package health

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-project/berth/internal/kube/telemetry"
)

// The reported health of a cluster, and the last part of the keys of health taints.
const (
	stateAvailable   = "available"
	stateUnavailable = "unavailable"
	stateUnreachable = "unreachable"
	stateUnreported  = "unreported"
	stateDenied      = "denied"
)

// The changes of a health taint.
const (
	taintAdded   = "added"
	taintRemoved = "removed"
)

// State is the state of the health controller: the clusters by reported health, and whether reporting is suspended.
type State struct {
	Available, Unavailable, Unreachable, Unreported int

	Suspended bool
	// ClockSuspected is true while most clusters are skewed in the same direction.
	ClockSuspected bool
	// UnjoinedSelected is how many selected clusters never joined or are denied. While it is above 0, no such cluster is tainted.
	UnjoinedSelected int
	// EvictionsHeld is how many clusters keep the objects of works that the hub has lost.
	EvictionsHeld int
}

// Metrics are the metrics of the health controller. They are a prometheus.Collector for its state.
type Metrics struct {
	state                      func() State
	clusters, suspended, clock *prometheus.Desc
	unjoinedSelected, held     *prometheus.Desc
	taints                     *prometheus.CounterVec
}

// NewMetrics registers the metrics. It must be called once per registry. Each scrape calls state.
func NewMetrics(registry prometheus.Registerer, state func() State) *Metrics {
	set := &telemetry.Set{}
	m := newMetrics(set, state)
	set.Add(m)
	set.Register(registry)
	for _, taint := range []string{stateUnreachable, stateUnavailable, stateDenied} {
		m.taints.WithLabelValues(taint, taintAdded)
		m.taints.WithLabelValues(taint, taintRemoved)
	}
	return m
}

// DescribeMetrics adds the metrics of the package to a set.
func DescribeMetrics(set *telemetry.Set) { newMetrics(set, nil) }

func newMetrics(set *telemetry.Set, state func() State) *Metrics {
	return &Metrics{
		state: state,
		clusters: set.Collected("berth_clusters",
			"ManagedClusters by reported health: available, unavailable, unreachable or unreported.",
			telemetry.Label{Name: "health", Values: []string{stateAvailable, stateUnavailable, stateUnreachable, stateUnreported}}),
		suspended: set.Collected("berth_health_suspended",
			"1 while so many clusters are silent that the hub itself may be at fault, so that no further cluster is reported or tainted, else 0."),
		clock: set.Collected("berth_health_manager_clock_suspected",
			"1 while the clocks of most clusters differ from the clock of the manager in the same direction by more than "+
				"five lease periods, else 0."),
		unjoinedSelected: set.Collected("berth_health_unjoined_selected",
			"ManagedClusters that were selected at the start although they never joined or are denied. While it is above 0, no such cluster is "+
				"tainted unless --taint-unjoined is set."),
		held: set.Collected("berth_clusters_evictions_held",
			"ManagedClusters with the condition WorkEvictionHeld: the objects of works stay there, although the hub has lost the works."),
		taints: set.Counter("berth_health_taints_total",
			"Health taints that were added or removed, by key without its domain.",
			telemetry.Label{Name: "taint", Values: []string{stateUnreachable, stateUnavailable, stateDenied}},
			telemetry.Label{Name: "change", Values: []string{taintAdded, taintRemoved}}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	to <- m.clusters
	to <- m.suspended
	to <- m.clock
	to <- m.unjoinedSelected
	to <- m.held
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	state := m.state()
	for health, count := range map[string]int{
		stateAvailable: state.Available, stateUnavailable: state.Unavailable, stateUnreachable: state.Unreachable,
		stateUnreported: state.Unreported,
	} {
		to <- prometheus.MustNewConstMetric(m.clusters, prometheus.GaugeValue, float64(count), health)
	}
	to <- prometheus.MustNewConstMetric(m.suspended, prometheus.GaugeValue, telemetry.BoolValue(state.Suspended))
	to <- prometheus.MustNewConstMetric(m.clock, prometheus.GaugeValue, telemetry.BoolValue(state.ClockSuspected))
	to <- prometheus.MustNewConstMetric(m.unjoinedSelected, prometheus.GaugeValue, float64(state.UnjoinedSelected))
	to <- prometheus.MustNewConstMetric(m.held, prometheus.GaugeValue, float64(state.EvictionsHeld))
}

// AddTaints counts the keys of the taints that were added to a cluster and removed from it.
func (m *Metrics) AddTaints(addedKeys, removedKeys []string) {
	for change, keys := range map[string][]string{taintAdded: addedKeys, taintRemoved: removedKeys} {
		for _, key := range keys {
			m.taints.WithLabelValues(key[strings.LastIndex(key, "/")+1:], change).Inc()
		}
	}
}
