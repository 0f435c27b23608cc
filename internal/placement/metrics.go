package placement

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

// placementScheduling is the value of the label name of OCM's scheduling metrics.
const placementScheduling = "placement_scheduling"

// Metrics are the metrics of the placement controller.
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

// NewMetrics registers the metrics. It must be called once per registry.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	set := &telemetry.Set{}
	m := newMetrics(set)
	set.Register(registry)
	return m
}

// DescribeMetrics adds the metrics of the package to a set.
func DescribeMetrics(set *telemetry.Set) { newMetrics(set) }

func newMetrics(set *telemetry.Set) *Metrics {
	ocmBuckets := prometheus.ExponentialBuckets(1e-6, 10, 10)
	name := telemetry.Label{Name: "name", Values: []string{placementScheduling}}
	m := &Metrics{
		scheduling: set.Histogram("scheduling_scheduling_duration_seconds",
			"Seconds to decide a placement, without reading and writing.", ocmBuckets, name).WithLabelValues(placementScheduling),
		binding: set.Histogram("scheduling_bind_duration_seconds",
			"Seconds to write a decision, if there is something to write.", ocmBuckets, name).WithLabelValues(placementScheduling),
		stages: set.Histogram("berth_stage_duration_seconds",
			"Seconds that a stage of an evaluation takes: decide, plan the writes, or write.",
			prometheus.ExponentialBuckets(1e-5, 4, 12), telemetry.Label{Name: "stage", Values: stages()}),
		latency: set.Histogram("berth_event_to_decision_seconds",
			"Seconds from the first change that enqueued a placement until the decision is stored, including retries.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}).WithLabelValues(),
		evaluations: set.Counter("berth_placement_evaluations_total",
			"Evaluations of placements by outcome: unchanged, changed, kept (the placement is misconfigured) or failed (a write failed).",
			telemetry.Label{Name: "outcome", Values: outcomes()}),
		decisions: set.Counter("berth_decisions_total",
			"Clusters by what happened to them in the decisions of a placement: added, removed, restored (another client had removed them) or "+
				"regrouped (moved to another decision group).",
			telemetry.Label{Name: "change", Values: []string{added, removed, restored, regrouped}}),
		changes: set.Counter("berth_decision_changes_total",
			"Changes of the decisions of a placement, by the kind of the object whose change enqueued the placement first.",
			telemetry.Label{Name: "cause", Values: causes()}),
		writes: set.Counter("berth_plan_writes_total",
			"Attempted writes, by kind of object, verb and result: stored, conflict (another client wrote first) or failed.",
			telemetry.Label{Name: "kind", Values: []string{kindSlice, kindPlacement}}, telemetry.Label{Name: "verb", Values: verbNames()},
			telemetry.Label{Name: "result", Values: results()}),
		conditions: set.Counter("berth_placement_condition_changes_total",
			"Changes of placement conditions, by type and new reason.", conditionLabels(conditionReasons())...),
		released: set.Counter("berth_released_removals_total",
			"Selected clusters that were removed within the budget of a disruption policy.").WithLabelValues(),
		orphaned: set.Gauge("berth_orphaned_slices",
			"PlacementDecisions that Berth wrote, whose placement is gone, and that the garbage collector does not delete "+
				"because no placement owns them.").WithLabelValues(),
		states: newPlacementStates(set),
	}
	m.initSeries()
	return m
}

// initSeries creates every series with the value 0, so that rate() shows the first failure.
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

// Evaluation is one evaluation of a placement, with what it stored.
type Evaluation struct {
	Key    fleet.Key
	Before *clusterv1beta1.Placement
	Result *engine.Result
	Plan   plan.Plan
	// Written is how many writes of the plan were stored. Failure is the result of the next one; empty if all were stored.
	Written int
	Failure WriteResult
	// Deciding, Planning and Writing are the durations of the stages. Writing is ignored if the plan is empty.
	Deciding, Planning, Writing time.Duration
	// Latency is the time from the first change that enqueued the placement until the decision was stored. It is negative if
	// no change did.
	Latency time.Duration
	// Cause is the kind of the first cause; empty if no cluster moved.
	Cause string
}

// Record records an evaluation: its stages, its writes, and the state of the placement once everything is stored.
func (m *Metrics) Record(e Evaluation) {
	m.scheduling.Observe(e.Deciding.Seconds())
	m.stages.WithLabelValues(stageDecide).Observe(e.Deciding.Seconds())
	m.stages.WithLabelValues(stagePlan).Observe(e.Planning.Seconds())
	if !e.Plan.Empty() {
		m.stages.WithLabelValues(stageWrite).Observe(e.Writing.Seconds())
	}
	m.evaluations.WithLabelValues(e.outcome()).Inc()
	m.RecordWrites(e.Plan, e.Written, e.Failure)
	if e.Failure != "" {
		return
	}
	m.SetState(e.Key, e.Held(), e.conditions())
	if e.Plan.Empty() {
		return
	}
	m.binding.Observe(e.Writing.Seconds())
	if e.Latency >= 0 {
		m.latency.Observe(e.Latency.Seconds())
	}
	m.recordChanges(e)
}

// outcome returns the value of the label outcome.
func (e Evaluation) outcome() string {
	switch {
	case e.Failure != "":
		return outcomeFailed
	case !e.Result.Decided:
		return outcomeKept
	case e.Plan.Empty():
		return outcomeUnchanged
	default:
		return outcomeChanged
	}
}

// Held returns how many clusters the placement holds once the plan is stored. A misconfigured placement holds what it held.
func (e Evaluation) Held() int {
	if e.Result.Decided {
		return len(e.Result.Ledger.Held)
	}
	return len(plan.ReadLedger(e.Before).Held)
}

// conditions returns the conditions of the placement once the plan is stored.
func (e Evaluation) conditions() []metav1.Condition {
	if last := len(e.Plan.Writes) - 1; last >= 0 && e.Plan.Writes[last].Verb == plan.UpdateStatus {
		return e.Plan.Writes[last].Placement.Status.Conditions
	}
	return e.Before.Status.Conditions
}

// recordChanges records which clusters and which conditions a stored plan changed.
func (m *Metrics) recordChanges(e Evaluation) {
	m.decisions.WithLabelValues(added).Add(float64(len(e.Plan.Added) - len(e.Plan.Restored)))
	m.decisions.WithLabelValues(restored).Add(float64(len(e.Plan.Restored)))
	m.decisions.WithLabelValues(removed).Add(float64(len(e.Plan.Removed)))
	m.decisions.WithLabelValues(regrouped).Add(float64(len(e.Plan.Regrouped)))
	for _, name := range e.Plan.Removed {
		if _, paid := slices.BinarySearch(e.Result.Ledger.Releasing, name); paid {
			m.released.Inc()
		}
	}
	if cause := e.Cause; cause != "" {
		if !slices.Contains(causes(), cause) {
			cause = causeOther
		}
		m.changes.WithLabelValues(cause).Inc()
	}
	for _, condition := range plan.Conditions(e.Result, e.Before) {
		old := meta.FindStatusCondition(e.Before.Status.Conditions, condition.Type)
		if old == nil || old.Reason != condition.Reason {
			m.conditions.WithLabelValues(condition.Type, condition.Reason).Inc()
		}
	}
}

// RecordWrites records the first writes of a plan as stored, and the next one with the result of its failure, if any.
func (m *Metrics) RecordWrites(p plan.Plan, written int, failure WriteResult) {
	for at, write := range p.Writes[:min(written+1, len(p.Writes))] {
		result := WriteStored
		if at == written {
			result = failure
		}
		m.writes.WithLabelValues(kindOf(write.Verb), write.Verb.String(), string(result)).Inc()
	}
}

// SetOrphaned sets the number of orphaned slices: their placement is gone and the garbage collector does not delete them.
func (m *Metrics) SetOrphaned(slices int) { m.orphaned.Set(float64(slices)) }
