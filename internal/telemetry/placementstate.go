package telemetry

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
)

// placementStates counts how placements stand, over all of them and by namespace. It remembers each one to take it off again.
type placementStates struct {
	mu         sync.Mutex
	known      map[fleet.Key]placementState
	held       prometheus.Gauge
	placements *prometheus.GaugeVec
	namespaces *namespaceCollector
}

// placementState is how one placement stands: how many clusters it holds, and what its conditions report.
type placementState struct {
	held       int
	conditions []conditionReason
}

func newPlacementStates(c *metricSet) *placementStates {
	s := &placementStates{
		known: map[fleet.Key]placementState{},
		held: c.gauge("berth_held_removals",
			"Selected clusters that would be dropped and are held by a disruption policy, over all placements.").WithLabelValues(),
		placements: c.gauge("berth_placements",
			"Placements that are decided, by type and reason of a condition that they have.", conditionLabels(conditionReasons())...),
		namespaces: newNamespaceCollector(c),
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
	}
	for _, r := range now.conditions {
		s.placements.WithLabelValues(r.condition, r.reason).Inc()
		s.namespaces.add(key.Namespace, r, 1)
	}
	if s.known[key] = now; now.held == 0 && len(now.conditions) == 0 {
		delete(s.known, key)
	}
}

// Stands records how a placement stands, as far as is stored: how many clusters it holds, and its conditions. Conditions
// that Berth does not write do not count.
func (m *Metrics) Stands(key fleet.Key, held int, conditions []metav1.Condition) {
	now := placementState{held: held}
	for _, condition := range conditions {
		if r := (conditionReason{condition.Type, condition.Reason}); slices.Contains(conditionReasons(), r) {
			now.conditions = append(now.conditions, r)
		}
	}
	m.states.set(key, now)
}

// Left forgets how a placement stood that is gone or left to another controller.
func (m *Metrics) Left(key fleet.Key) { m.states.set(key, placementState{}) }
