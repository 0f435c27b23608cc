// Package telemetry owns every metric and event that Berth emits, by name. It reads results and plans, and refuses to
// influence them. No metric has a label whose values grow with the number of clusters or placements; those of a namespace
// are at most 1,001.
package telemetry

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/plan"
)

// placementScheduling is the value of the label "name" that tells apart what the durations are of.
const placementScheduling = "placement_scheduling"

// Metrics counts and times what the placement controller does.
type Metrics struct {
	scheduling, binding prometheus.Observer
	stages              *prometheus.HistogramVec
	latency             prometheus.Observer
	evaluations         *prometheus.CounterVec
	decisions           *prometheus.CounterVec
	changes             *prometheus.CounterVec
	writes              *prometheus.CounterVec
	conditions          *prometheus.CounterVec
	released            prometheus.Counter
	orphaned            prometheus.Gauge
	states              *placementStates
}

// NewMetrics makes the metrics and registers them. It must be called once per registry.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	c := &metricSet{}
	m := newMetrics(c)
	registry.MustRegister(c.collectors...)
	return m
}

func newMetrics(c *metricSet) *Metrics {
	theirs := prometheus.ExponentialBuckets(1e-6, 10, 10)
	name := Label{Name: "name", Values: []string{placementScheduling}}
	m := &Metrics{
		scheduling: c.histogram("scheduling_scheduling_duration_seconds",
			"How long deciding a placement takes, in seconds, without reading and writing.", theirs, name).WithLabelValues(placementScheduling),
		binding: c.histogram("scheduling_bind_duration_seconds",
			"How long writing what was decided takes, in seconds, where there was something to write.", theirs, name).WithLabelValues(placementScheduling),
		stages: c.histogram("berth_stage_duration_seconds",
			"How long a stage of an evaluation takes, in seconds: to decide, to plan the writes, to write where there is something to write.",
			prometheus.ExponentialBuckets(1e-5, 4, 12), Label{Name: "stage", Values: stages()}),
		latency: c.histogram("berth_event_to_decision_seconds",
			"How long it takes from the first change that woke a placement until what was decided is stored, in seconds, retries included.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}).WithLabelValues(),
		evaluations: c.counter("berth_placement_evaluations_total",
			"Placements decided, by outcome: unchanged, changed, kept (misconfigured) or failed (a write failed).", Label{Name: "outcome", Values: outcomes()}),
		decisions: c.counter("berth_decisions_total",
			"Clusters that came into a placement's decisions, left them, were put back, or had to change their decision group, by change: added, removed, restored or regrouped.",
			Label{Name: "change", Values: []string{added, removed, restored, regrouped}}),
		changes: c.counter("berth_decision_changes_total",
			"Changes of which clusters a placement has selected or of the groups that they are in, by the kind of what woke the placement first.", Label{Name: "cause", Values: causes()}),
		writes: c.counter("berth_plan_writes_total",
			"Planned writes that were tried, by the kind of object, the verb and the result: stored, superseded (somebody else wrote in between) or failed.",
			Label{Name: "kind", Values: []string{kindSlice, kindPlacement}}, Label{Name: "verb", Values: verbNames()}, Label{Name: "result", Values: results()}),
		conditions: c.counter("berth_placement_condition_changes_total",
			"Changes of a placement's conditions, by type and the reason that it changed to.", conditionLabels(conditionReasons())...),
		released: c.counter("berth_released_removals_total",
			"Selected clusters that were dropped at the expense of a disruption policy.").WithLabelValues(),
		orphaned: c.gauge("berth_orphaned_slices",
			"PlacementDecisions that Berth wrote, whose placement is gone, and that nothing deletes since no placement controls them.").WithLabelValues(),
		states: newPlacementStates(c),
	}
	m.initSeries()
	return m
}

// initSeries lets every series that can be begin at zero: the first failure is a rise then, which a rate shows.
func (m *Metrics) initSeries() {
	for vec, values := range map[*prometheus.CounterVec][]string{
		m.evaluations: outcomes(), m.decisions: {added, removed, restored, regrouped}, m.changes: causes(),
	} {
		for _, value := range values {
			vec.WithLabelValues(value)
		}
	}
	for _, verb := range verbs() {
		for _, result := range results() {
			m.writes.WithLabelValues(kindOf(verb), verb.String(), result)
		}
	}
	for _, r := range conditionReasons() {
		m.conditions.WithLabelValues(r.condition, r.reason)
	}
	for _, stage := range stages() {
		m.stages.WithLabelValues(stage)
	}
}

// Evaluation is how one evaluation of a placement went.
type Evaluation struct {
	Outcome Outcome
	// Deciding, Planning and Writing are how long its stages took. There may have been nothing to write.
	Deciding, Planning, Writing time.Duration
}

// Evaluated records one evaluation of a placement.
func (m *Metrics) Evaluated(e Evaluation, p plan.Plan) {
	m.scheduling.Observe(e.Deciding.Seconds())
	m.stages.WithLabelValues(stageDecide).Observe(e.Deciding.Seconds())
	m.stages.WithLabelValues(stagePlan).Observe(e.Planning.Seconds())
	if !p.Empty() {
		m.stages.WithLabelValues(stageWrite).Observe(e.Writing.Seconds())
	}
	if !p.Empty() && e.Outcome != Failed {
		m.binding.Observe(e.Writing.Seconds())
	}
	m.evaluations.WithLabelValues(string(e.Outcome)).Inc()
}

// Wrote records how many writes of a plan were done, and what became of the next one. Those after it were not tried.
func (m *Metrics) Wrote(p plan.Plan, done int, next WriteResult) {
	for at, write := range p.Writes[:min(done+1, len(p.Writes))] {
		result := WriteStored
		if at == done {
			result = next
		}
		m.writes.WithLabelValues(kindOf(write.Verb), write.Verb.String(), string(result)).Inc()
	}
}

// Applied records a plan that was applied in full.
func (m *Metrics) Applied(result *engine.Result, p plan.Plan) {
	m.decisions.WithLabelValues(added).Add(float64(len(p.Added) - len(p.Restored)))
	m.decisions.WithLabelValues(restored).Add(float64(len(p.Restored)))
	m.decisions.WithLabelValues(removed).Add(float64(len(p.Removed)))
	m.decisions.WithLabelValues(regrouped).Add(float64(len(p.Regrouped)))
	for _, name := range p.Removed {
		if _, paid := slices.BinarySearch(result.Ledger.Releasing, name); paid {
			m.released.Inc()
		}
	}
}

// Answered records how long it took from the first change that woke a placement until what was decided was stored.
func (m *Metrics) Answered(took time.Duration) { m.latency.Observe(took.Seconds()) }

// Moved records one change of decisions, by the kind of what woke the placement first.
func (m *Metrics) Moved(kind string) {
	if !slices.Contains(causes(), kind) {
		kind = causeOther
	}
	m.changes.WithLabelValues(kind).Inc()
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

// Orphaned records how many slices there are whose placement is gone and that nothing deletes.
func (m *Metrics) Orphaned(slices int) { m.orphaned.Set(float64(slices)) }
