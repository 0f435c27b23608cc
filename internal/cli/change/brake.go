package change

import (
	"slices"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/cli/offline"
	"github.com/berth-project/berth/internal/placement/brake"
)

// Brake makes the course keep what a hub with a brake keeps: what goes at once counts together, and the brakes that are on stay on. What
// the course has decided before does not count.
func (s *Simulation) Brake(sets []*clusterv1beta2.ManagedClusterSet) {
	s.brakes = offline.NewBrakes(s.snapshot.Now, sets)
}

// BrakeOfPart leaves out the brake of the hub, unless it is on: the course has only a part of a hub. Call it after Brake.
func (s *Simulation) BrakeOfPart() { s.brakes.OfPart() }

// judge decides a placement with the clusters that a brake keeps; nil when the manager does not decide the placement.
func (s *Simulation) judge(key fleet.Key) *engine.Result {
	before, at := s.kept[key], s.placements[key]
	if delete(s.kept, key); at == nil || offline.SkipReason(at.placement) != "" {
		return nil
	}
	if s.brakes == nil {
		result := s.evaluate(key)
		s.noteEmptyingEdit(key, result, nil)
		return result
	}
	result, kept := s.brakes.Decide(brake.Attempt{
		Key: key, Snapshot: s.snapshot, Past: plan.ReadLedger(at.placement), Kept: before,
		Decide: func(on *fleet.Snapshot, past ledger.Ledger) *engine.Result {
			return engine.Decide(on, key, at.program, at.faults, past)
		},
		SameReach: func(decided *engine.Result) bool {
			reach, known := s.reach[key]
			return !known || slices.Equal(reach, decided.Trace.Reach())
		},
	})
	if result.Decided {
		s.reach[key] = result.Trace.Reach()
	}
	s.noteEmptyingEdit(key, result, before)
	if kept != nil {
		s.kept[key] = kept
	}
	return result
}

// braked describes the brakes that are on in this course, and not in another.
func (s *Simulation) braked(other *Simulation) []string {
	if s.brakes == nil {
		return nil
	}
	return s.brakes.On(other.brakes)
}
