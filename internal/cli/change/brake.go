package change

import (
	"slices"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/placement/brake"
)

// Brake makes the course keep what a hub with a brake keeps: what goes at once counts together, and the brakes that are on stay on. What
// the course has decided before does not count.
func (s *Simulation) Brake(sets []*clusterv1beta2.ManagedClusterSet) {
	s.brakes = offline.NewBrakes(s.snapshot.Now, sets)
}

// judge decides a placement with the clusters that a brake keeps; nil when the manager does not decide the placement.
func (s *Simulation) judge(key fleet.Key) *engine.Result {
	if s.brakes == nil {
		return s.evaluate(key)
	}
	before := s.kept[key]
	delete(s.kept, key)
	result := s.evaluate(key)
	if result == nil {
		return nil
	}
	reach, known := s.reach[key]
	if result.Decided {
		s.reach[key] = result.Trace.Reach()
	}
	leaving := result.Departures(brake.HealthTaint)
	if len(leaving) == 0 {
		s.brakes.Qualify(key)
		return result
	}
	kept := s.brakes.Judge(brake.Decision{
		Key: key, Departures: leaving, Kept: before, Snapshot: s.snapshot, SameSpec: plan.ReadLedger(s.placements[key].placement).SameSpec,
		SameReach: !known || slices.Equal(reach, s.reach[key]),
	})
	if kept == nil {
		return result
	}
	s.kept[key] = kept
	return s.evaluate(key)
}

// braked describes the brakes that are on in this course, and not in another.
func (s *Simulation) braked(other *Simulation) []string {
	if s.brakes == nil {
		return nil
	}
	return s.brakes.On(other.brakes)
}
