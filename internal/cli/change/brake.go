package change

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1beta2 "github.com/berth-project/berth/api/cluster/v1beta2"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/internal/placement/brake"
)

// brakes find the departures that are too many at once, as the brake of a manager does.
type brakes struct {
	brake *brake.Brake
	// sets are the sets whose brake is on because of this course.
	sets map[string]bool
}

// instant is a clock that stands still.
type instant time.Time

func (i instant) Now() time.Time                       { return time.Time(i) }
func (i instant) Since(before time.Time) time.Duration { return time.Time(i).Sub(before) }

// Brake makes the course keep what a hub with a brake keeps: what goes at once counts together, and the brakes that are on stay on. What
// the course has decided before does not count.
func (s *Simulation) Brake(sets []*clusterv1beta2.ManagedClusterSet) {
	made := &brakes{sets: map[string]bool{}}
	made.brake = brake.New(instant(s.snapshot.Now), 0, func(set string) { made.sets[set] = true }, func(fleet.Key) {})
	for _, set := range sets {
		made.brake.Observe(set)
	}
	clear(made.sets)
	s.brakes = made
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
		s.brakes.brake.Qualify(key)
		return result
	}
	kept := s.brakes.brake.Judge(brake.Decision{
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
	var out []string
	for _, set := range slices.Sorted(maps.Keys(s.brakes.sets)) {
		if other.brakes != nil && other.brakes.sets[set] {
			continue
		}
		for _, condition := range s.brakes.brake.Conditions(set) {
			if condition.Status == metav1.ConditionTrue {
				out = append(out, fmt.Sprintf("managedclusterset/%s: %s", set, condition.Message))
			}
		}
	}
	return out
}
