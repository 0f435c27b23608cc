// Package telemetry owns every metric and event that Berth emits, by name. It reads results and plans, and refuses to
// influence them. No metric has a label whose values grow with the number of clusters or placements.
package telemetry

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// placementScheduling is the value of the label "name" that tells apart what the durations are of.
const placementScheduling = "placement_scheduling"

// Metrics counts and times what the placement controller does.
type Metrics struct {
	scheduling, binding prometheus.Observer
	evaluations         *prometheus.CounterVec
	decisions           *prometheus.CounterVec
	writes              *prometheus.CounterVec
	conditions          *prometheus.CounterVec
	released            prometheus.Counter

	mu   sync.Mutex
	held prometheus.Gauge
	// holding is how many clusters each placement holds; a placement that holds none is not in it.
	holding map[fleet.Key]int
}

// NewMetrics makes the metrics and registers them. It must be called once per registry.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	buckets := prometheus.ExponentialBuckets(1e-6, 10, 10)
	scheduling := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "scheduling_scheduling_duration_seconds", Buckets: buckets,
		Help: "How long deciding a placement takes, in seconds, without reading and writing.",
	}, []string{"name"})
	binding := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "scheduling_bind_duration_seconds", Buckets: buckets,
		Help: "How long writing what was decided takes, in seconds, where there was something to write.",
	}, []string{"name"})
	m := &Metrics{
		scheduling: scheduling.WithLabelValues(placementScheduling),
		binding:    binding.WithLabelValues(placementScheduling),
		evaluations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_placement_evaluations_total",
			Help: "Placements decided, by outcome: unchanged, changed, kept (misconfigured) or failed (a write failed).",
		}, []string{"outcome"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_decisions_total",
			Help: "Clusters that came into a placement's decisions or left them, by change: added or removed.",
		}, []string{"change"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_plan_writes_total",
			Help: "Planned writes, by verb: pledge, create, fill, mark, delete or report.",
		}, []string{"verb"}),
		conditions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_placement_condition_changes_total",
			Help: "Changes of a placement's conditions, by type and the reason that it changed to.",
		}, []string{"type", "reason"}),
		released: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_released_removals_total",
			Help: "Selected clusters that were dropped at the expense of a disruption policy.",
		}),
		held: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "berth_held_removals",
			Help: "Selected clusters that would be dropped and are held by a disruption policy, over all placements.",
		}),
		holding: map[fleet.Key]int{},
	}
	registry.MustRegister(scheduling, binding, m.evaluations, m.decisions, m.writes, m.conditions, m.released, m.held)
	return m
}

// Outcome says how an evaluation ended.
type Outcome string

// The outcomes.
const (
	Unchanged Outcome = "unchanged"
	Changed   Outcome = "changed"
	Kept      Outcome = "kept"
	Failed    Outcome = "failed"
)

// Evaluated records one evaluation of a placement: how long deciding took and how it ended.
func (m *Metrics) Evaluated(took time.Duration, outcome Outcome) {
	m.scheduling.Observe(took.Seconds())
	m.evaluations.WithLabelValues(string(outcome)).Inc()
}

// Applied records a plan that was applied in full and how long that took.
func (m *Metrics) Applied(result *engine.Result, p plan.Plan, took time.Duration) {
	m.binding.Observe(took.Seconds())
	m.decisions.WithLabelValues("added").Add(float64(len(p.Added)))
	m.decisions.WithLabelValues("removed").Add(float64(len(p.Removed)))
	for _, write := range p.Writes {
		m.writes.WithLabelValues(write.Verb.String()).Inc()
	}
	for _, name := range p.Removed {
		if _, paid := slices.BinarySearch(result.Ledger.Releasing, name); paid {
			m.released.Inc()
		}
	}
}

// Holding records how many clusters a placement holds, as far as is stored; 0 for one that is gone or left to others.
func (m *Metrics) Holding(key fleet.Key, clusters int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held.Add(float64(clusters - m.holding[key]))
	if m.holding[key] = clusters; clusters == 0 {
		delete(m.holding, key)
	}
}

// Conditions records which of a placement's conditions a result changes.
func (m *Metrics) Conditions(before *clusterv1beta1.Placement, result *engine.Result) {
	for _, condition := range plan.Conditions(result, before) {
		old := meta.FindStatusCondition(before.Status.Conditions, condition.Type)
		if old == nil || old.Reason != condition.Reason {
			m.conditions.WithLabelValues(condition.Type, condition.Reason).Inc()
		}
	}
}
