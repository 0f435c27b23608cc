package enginetest_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

// TestNoGroupIsAboveItsBoundAfterADecision decides random states with any stored slices.
func TestNoGroupIsAboveItsBoundAfterADecision(t *testing.T) {
	forEachDecision(t, properties, func(t *testing.T, _ harness, at string, c decided) {
		if !c.result.Decided {
			return
		}
		strategy := c.state.Placements[c.key].Spec.DecisionStrategy.GroupStrategy
		for index, group := range c.result.Groups {
			if most := enginetest.GroupBound(strategy, c.result.Selected); group.Size() > most {
				t.Errorf("%s: group %d has %d of %d clusters, want at most %d", at, index, group.Size(), c.result.Selected, most)
			}
		}
	})
}

// shrinking is a placement with groups of a percentage, and a fleet that grows and shrinks.
type shrinking struct {
	state   *enginetest.State
	key     fleet.Key
	percent int
}

func newShrinking(random enginetest.Random) *shrinking {
	s := &shrinking{percent: 1 + random.IntN(35), key: fleet.Key{Namespace: "ns", Name: "p"}}
	placement := enginetest.Placement("ns", "p").PerGroup(fmt.Sprintf("%d%%", s.percent))
	s.state = enginetest.NewState(placement.Obj(), enginetest.Set("all").Obj()).Bind("ns", "all")
	return s
}

// resize adds and removes clusters. It removes any clusters, or the last by name, which empties whole groups.
func (s *shrinking) resize(random enginetest.Random, size int) {
	for len(s.state.Clusters) < size {
		s.state.Add(enginetest.Cluster(fmt.Sprintf("c%04d", random.IntN(10_000))).In("all").Obj())
	}
	names := slices.Sorted(maps.Keys(s.state.Clusters))
	if random.Chance(50) {
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	for _, name := range names[min(size, len(names)):] {
		delete(s.state.Clusters, name)
	}
}

// TestGrowingAndShrinkingInsideTheBoundMovesNoCluster resizes fleets. From each group exactly the clusters above its bound move,
// which are the last by name. Each decision is stable at once, and while it is written no reader misses a cluster.
func TestGrowingAndShrinkingInsideTheBoundMovesNoCluster(t *testing.T) {
	t.Parallel()
	quiet, cut := 0, 0
	for seed := range uint64(150) {
		random := enginetest.NewRandom(seed + 5<<32)
		s, env := newShrinking(random), enginetest.Env(t)
		size := random.IntN(60)
		for step := range 12 {
			at := fmt.Sprintf("seed %d, step %d, %d %% of %d", seed, step, s.percent, size)
			s.resize(random, size)
			want := s.leavers()
			c := decided{s.state, s.state.Snapshot(), s.key, nil}
			c.result = enginetest.DecidePlacement(c.snapshot, s.state.Placements[s.key], env)
			if diff := cmp.Diff(want, c.result.Regrouped); diff != "" {
				t.Fatalf("%s: regrouped (-want +got):\n%s", at, diff)
			}
			before := where(s.stored())
			for name, is := range where(c.result.Slices()) {
				was, stayed := before[name]
				if stayed && was.Number != is.Number && !slices.Contains(want, name) {
					t.Fatalf("%s: %s moved from slice %d to %d", at, name, was.Number, is.Number)
				}
			}
			steady(t, at, c)
			if len(want) == 0 {
				quiet++
			} else {
				cut++
			}
			if again := enginetest.DecidePlacement(s.state.Snapshot(), s.state.Placements[s.key], env); len(again.Regrouped) > 0 {
				t.Fatalf("%s: deciding again regroups %v", at, again.Regrouped)
			}
			size = min(400, size+random.IntN(size+12))
			if random.Chance(35) {
				size /= 4
			}
		}
	}
	if quiet < 100 || cut < 100 {
		t.Errorf("%d steps inside the bound and %d beyond it: these walks show little", quiet, cut)
	}
}

// stored returns the stored slices of the placement.
func (s *shrinking) stored() []fleet.Slice {
	var out []fleet.Slice
	for _, slice := range s.state.SlicesOf(s.key) {
		out = append(out, plan.ReadSlice(slice))
	}
	return out
}

// leavers are the clusters that must leave their group: the last by name of each group above its bound.
func (s *shrinking) leavers() []string {
	groups := map[int][]string{}
	for _, slice := range s.stored() {
		for _, name := range slice.Clusters {
			if s.state.Clusters[name] != nil {
				groups[slice.GroupIndex] = append(groups[slice.GroupIndex], name)
			}
		}
	}
	share := int(math.Ceil(float64(s.percent*len(s.state.Clusters)) / 100))
	bound := max(int(math.Floor(1.5*float64(share))), share+1)
	var out []string
	for _, members := range groups {
		slices.Sort(members)
		out = append(out, members[min(bound, len(members)):]...)
	}
	slices.Sort(out)
	return out
}
