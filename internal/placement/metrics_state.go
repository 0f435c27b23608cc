package placement

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/kube/hold"
	"github.com/berth-project/berth/internal/kube/telemetry"
)

// placementStates counts the states of placements, in total and by namespace. It keeps the last state of each placement.
type placementStates struct {
	mu         sync.Mutex
	known      map[fleet.Key]placementState
	held       prometheus.Gauge
	placements *prometheus.GaugeVec
	namespaces *namespaceProblems
	// holds are the gauges of holds by the reason that reports them.
	holds map[string]prometheus.Gauge
}

// placementState is the state of one placement: the number of held clusters and its conditions.
type placementState struct {
	held       int
	conditions []conditionReason
}

func newPlacementStates(set *telemetry.Set) *placementStates {
	s := &placementStates{
		known: map[fleet.Key]placementState{},
		held: set.Gauge("berth_held_removals",
			"Selected clusters that would be removed and that a disruption policy holds, over all placements.").WithLabelValues(),
		placements: set.Gauge("berth_placements",
			"Placements that Berth decides, by type and reason of each of their conditions.", conditionLabels(conditionReasons())...),
		namespaces: newNamespaceProblems(set),
		holds:      placementHolds(set),
	}
	for _, r := range conditionReasons() {
		s.placements.WithLabelValues(r.condition, r.reason)
	}
	return s
}

func (s *placementStates) set(key fleet.Key, now placementState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.known[key]
	s.held.Add(float64(now.held - before.held))
	for _, r := range before.conditions {
		s.placements.WithLabelValues(r.condition, r.reason).Dec()
		s.namespaces.add(key.Namespace, r, -1)
		if gauge := s.holds[r.reason]; gauge != nil {
			gauge.Dec()
		}
	}
	for _, r := range now.conditions {
		s.placements.WithLabelValues(r.condition, r.reason).Inc()
		s.namespaces.add(key.Namespace, r, 1)
		if gauge := s.holds[r.reason]; gauge != nil {
			gauge.Inc()
		}
	}
	if s.known[key] = now; now.held == 0 && len(now.conditions) == 0 {
		delete(s.known, key)
	}
}

// SetState sets the stored state of a placement: the number of held clusters and its conditions. It ignores conditions that
// Berth does not write.
func (m *Metrics) SetState(key fleet.Key, held int, conditions []metav1.Condition) {
	now := placementState{held: held}
	for _, condition := range conditions {
		if r := (conditionReason{condition.Type, condition.Reason}); slices.Contains(conditionReasons(), r) {
			now.conditions = append(now.conditions, r)
		}
	}
	m.states.set(key, now)
}

// Remove removes the state of a placement that is gone or that Berth does not decide.
func (m *Metrics) Remove(key fleet.Key) { m.states.set(key, placementState{}) }

// placementHolds creates the gauge of each kind of hold of placements, by the reason that reports it. The label is constant, since the
// controller of works reports the other kinds of the metric.
func placementHolds(set *telemetry.Set) map[string]prometheus.Gauge {
	set.Define(telemetry.Definition{
		Name: hold.MetricName, Help: hold.MetricHelp, Type: telemetry.TypeGauge,
		Labels: []telemetry.Label{{Name: "kind", Values: telemetry.Texts(hold.Types())}},
	})
	out := map[string]prometheus.Gauge{}
	for reason, kind := range hold.PlacementReasons() {
		gauge := prometheus.NewGauge(prometheus.GaugeOpts{
			Name: hold.MetricName, Help: hold.MetricHelp,
			ConstLabels: prometheus.Labels{"kind": string(kind)},
		})
		set.Add(gauge)
		out[reason] = gauge
	}
	return out
}

// namespaceProblems counts the placements with a problem condition by namespace. A namespace without such placements has no
// series.
type namespaceProblems struct {
	counts telemetry.NamespaceCounts[conditionReason]
}

func newNamespaceProblems(set *telemetry.Set) *namespaceProblems {
	labels := append([]telemetry.Label{{
		Name: "namespace", Any: "the 1,000 namespaces with the most such placements; `" + telemetry.OtherNamespaces +
			"` is the sum of the others",
	}}, conditionLabels(problemReasons())...)
	out := &namespaceProblems{}
	set.Scraped("berth_namespace_placements",
		"Placements with a problem, by namespace, type and reason of the condition: not satisfied, misconfigured, held, or "+
			"ranked by expired scores. "+
			"A namespace without problems has no series.", out.collect, labels...)
	return out
}

// add changes the count of a problem condition in a namespace. It ignores other conditions.
func (n *namespaceProblems) add(namespace string, r conditionReason, delta int) {
	if slices.Contains(problemReasons(), r) {
		n.counts.Add(namespace, r, delta)
	}
}

// collect emits the counts.
func (n *namespaceProblems) collect(emit telemetry.Emit) {
	for namespace, of := range n.counts.Shown() {
		for r, count := range of {
			emit(float64(count), namespace, r.condition, r.reason)
		}
	}
}
