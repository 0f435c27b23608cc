package telemetry

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-project/berth/engine/fleet"
)

// standings counts how placements stand, over all of them. It remembers each one to take it off again.
type standings struct {
	mu         sync.Mutex
	known      map[fleet.Key]standing
	held       prometheus.Gauge
	placements *prometheus.GaugeVec
}

// standing is how one placement stands: how many clusters it holds, and what its conditions say.
type standing struct {
	held    int
	sayings []saying
}

func newStandings(c *catalogue) *standings {
	s := &standings{
		known: map[fleet.Key]standing{},
		held: c.gauge("berth_held_removals",
			"Selected clusters that would be dropped and are held by a disruption policy, over all placements.").WithLabelValues(),
		placements: c.gauge("berth_placements",
			"Placements that are decided, by type and reason of a condition that they have.", conditionLabels()...),
	}
	for _, r := range sayings() {
		s.placements.WithLabelValues(r.condition, r.name)
	}
	return s
}

func (s *standings) set(key fleet.Key, now standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.known[key]
	s.held.Add(float64(now.held - before.held))
	for _, r := range before.sayings {
		s.placements.WithLabelValues(r.condition, r.name).Dec()
	}
	for _, r := range now.sayings {
		s.placements.WithLabelValues(r.condition, r.name).Inc()
	}
	if s.known[key] = now; now.held == 0 && len(now.sayings) == 0 {
		delete(s.known, key)
	}
}

// Stands records how a placement stands, as far as is stored: how many clusters it holds, and its conditions. Those that
// are not Berth's do not count.
func (m *Metrics) Stands(key fleet.Key, held int, conditions []metav1.Condition) {
	now := standing{held: held}
	for _, condition := range conditions {
		if r := (saying{condition.Type, condition.Reason}); slices.Contains(sayings(), r) {
			now.sayings = append(now.sayings, r)
		}
	}
	m.standings.set(key, now)
}

// Left forgets how a placement stood that is gone or left to others.
func (m *Metrics) Left(key fleet.Key) { m.standings.set(key, standing{}) }
