package enginetest_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
)

var properties = 2_000

// forEachDecision decides every placement of n random states.
func forEachDecision(t *testing.T, n int, check func(t *testing.T, rig harness, at string, c decided)) {
	t.Helper()
	t.Parallel()
	overSeeds(t, n, func(t *testing.T, rig harness, seed uint64, at string) {
		w := enginetest.NewRandom(seed + 1<<32).State(2)
		s := w.Snapshot()
		for _, key := range w.Keys() {
			check(t, rig, at+" "+key.String(), decided{w, s, key, enginetest.DecidePlacement(s, w.Placements[key], rig.env)})
		}
	})
}

// decided is a placement of a state with the result of the engine.
type decided struct {
	state    *enginetest.State
	snapshot *fleet.Snapshot
	key      fleet.Key
	result   *engine.Result
}

// again decides again, from the slices of the result.
func (d decided) again(t *testing.T, rig harness) *engine.Result {
	t.Helper()
	e := d.snapshot.Edit()
	e.SetSlices(d.key, d.result.Slices())
	return enginetest.DecidePlacement(e.Snapshot(), d.state.Placements[d.key], rig.env)
}

// plan returns the writes without applying them.
func (d decided) plan() plan.Plan { return plan.Diff(d.result, d.state.Stored(d.key), d.state.Now) }

// union returns the distinct clusters in the stored slices of the placement.
func union(w *enginetest.State, key fleet.Key) map[string]bool { return clustersOf(w.SlicesOf(key)) }

// listed returns the distinct clusters of the slices with the placement's label.
func listed(w *enginetest.State, key fleet.Key) map[string]bool { return clustersOf(w.Listed(key)) }

func clustersOf(slices []*clusterv1beta1.PlacementDecision) map[string]bool {
	out := map[string]bool{}
	for _, slice := range slices {
		for _, decision := range slice.Status.Decisions {
			out[decision.ClusterName] = true
		}
	}
	return out
}

func set(names []string) map[string]bool {
	out := map[string]bool{}
	for _, name := range names {
		out[name] = true
	}
	return out
}

func TestDecidingAgainMovesNothing(t *testing.T) {
	forEachDecision(t, properties, func(t *testing.T, rig harness, at string, c decided) {
		again := c.again(t, rig)
		if diff := cmp.Diff(c.result.Slices(), again.Slices()); diff != "" {
			t.Errorf("%s: slices (-first +again):\n%s", at, diff)
		}
	})
}

func TestAPlanThatWasCarriedOutLeavesNothingToWrite(t *testing.T) {
	forEachDecision(t, properties, func(t *testing.T, rig harness, at string, c decided) {
		after := c.state.Copy()
		for _, write := range c.plan().Writes {
			after.Apply(write)
		}
		result := enginetest.DecidePlacement(after.Snapshot(), after.Placements[c.key], rig.env)
		for _, write := range plan.Diff(result, after.Stored(c.key), after.Now.Add(time.Second)).Writes {
			t.Errorf("%s: still to %s: %s", at, write.Verb, cmp.Diff(after.Placements[c.key], write.Placement))
		}
	})
}

func TestNeverMoreClustersThanWantedAreSelected(t *testing.T) {
	forEachDecision(t, properties, func(t *testing.T, _ harness, at string, c decided) {
		wanted := c.state.Placements[c.key].Spec.NumberOfClusters
		if c.result.Decided && wanted != nil && c.result.Selected > int(*wanted) {
			t.Errorf("%s: selected %d, want at most %d", at, c.result.Selected, *wanted)
		}
		if got := c.result.Clusters(); len(got) != c.result.Selected || len(set(got)) != len(got) {
			t.Errorf("%s: %d entries and %d clusters in the slices, want %d of both", at, len(got), len(set(got)), c.result.Selected)
		}
	})
}

func TestAMisconfiguredPlacementKeepsEveryReachableCluster(t *testing.T) {
	forEachDecision(t, properties, func(t *testing.T, _ harness, at string, c decided) {
		if c.result.Decided {
			return
		}
		want := map[string]bool{}
		reachable := reachable(c.state, c.key.Namespace)
		for name := range union(c.state, c.key) {
			if reachable(name) {
				want[name] = true
			}
		}
		if diff := cmp.Diff(want, set(c.result.Clusters())); diff != "" {
			t.Errorf("%s: kept (-want +got):\n%s", at, diff)
		}
		if c.result.Misconfigured.Status != "True" {
			t.Errorf("%s: kept without saying Misconfigured", at)
		}
	})
}

// reachable uses the engine's sets, one cluster at a time. The oracle has its own implementation of membership.
func reachable(w *enginetest.State, namespace string) func(name string) bool {
	var sets []*fleet.Set
	for name := range w.Bindings[namespace] {
		if set := w.Sets[name]; set != nil {
			sets = append(sets, fleet.NewSet(set))
		}
	}
	return func(name string) bool {
		object := w.Clusters[name]
		return object != nil && object.DeletionTimestamp == nil && slices.ContainsFunc(sets, func(s *fleet.Set) bool {
			return !s.Valid() || s.Has(fleet.NewCluster(object))
		})
	}
}

func TestNoReaderMissesAClusterThatStaysOrCountsTooMany(t *testing.T) {
	forEachDecision(t, properties, func(t *testing.T, _ harness, at string, c decided) {
		after := c.state.Copy()
		before, wanted := listed(c.state, c.key), set(c.result.Clusters())
		most := max(len(before), len(wanted))
		for n, write := range c.plan().Writes {
			after.Apply(write)
			now := listed(after, c.key)
			if write.Verb == plan.Create && write.Slice.Labels["cluster.open-cluster-management.io/placement"] != "" {
				t.Errorf("%s: write %d creates %s with labels %v, before it has a status", at, n, write.Slice.Name, write.Slice.Labels)
			}
			for name := range before {
				if wanted[name] && !now[name] {
					t.Errorf("%s: %s is in no slice after write %d (%s %s)", at, name, n, write.Verb, named(write))
				}
			}
			if len(now) > most {
				t.Errorf("%s: %d clusters after write %d (%s %s), want at most %d", at, len(now), n, write.Verb, named(write), most)
			}
		}
		if diff := cmp.Diff(wanted, listed(after, c.key)); diff != "" {
			t.Errorf("%s: stored in the end (-want +got):\n%s", at, diff)
		}
	})
}

func named(write plan.Write) string {
	if write.Slice != nil {
		return write.Slice.Name
	}
	return "the placement"
}

func TestSlicesAreUniqueAndHoldAtMostAHundred(t *testing.T) {
	forEachDecision(t, properties, func(t *testing.T, _ harness, at string, c decided) {
		numbers := map[int]bool{}
		for index, group := range c.result.Groups {
			if len(group.Slices) == 0 {
				t.Errorf("%s: group %d has no slice", at, index)
			}
			for _, slice := range group.Slices {
				if slice.Number < 1 || numbers[slice.Number] {
					t.Errorf("%s: slice number %d twice or not positive", at, slice.Number)
				}
				numbers[slice.Number] = true
				if len(slice.Clusters) > 100 || !slices.IsSorted(slice.Clusters) {
					t.Errorf("%s: slice %d has %d entries, or not in order", at, slice.Number, len(slice.Clusters))
				}
			}
		}
		after := c.state.Copy()
		for _, write := range c.plan().Writes {
			after.Apply(write)
		}
		indices := map[string]bool{}
		for _, slice := range after.SlicesOf(c.key) {
			indices[slice.Labels["cluster.open-cluster-management.io/decision-group-index"]] = true
		}
		for index := range c.result.Groups {
			if !indices[fmt.Sprint(index)] || len(indices) != len(c.result.Groups) {
				t.Errorf("%s: stored indices %v, want 0 to %d", at, slices.Sorted(maps.Keys(indices)), len(c.result.Groups)-1)
			}
		}
	})
}

func TestASliceWhoseClustersDoNotMoveIsWrittenAtMostOnce(t *testing.T) {
	forEachDecision(t, properties, func(t *testing.T, _ harness, at string, c decided) {
		home := map[string]int{}
		copies := map[string]int{}
		for _, slice := range c.state.SlicesOf(c.key) {
			for _, decision := range slice.Status.Decisions {
				copies[decision.ClusterName]++
			}
		}
		for _, slice := range c.result.Slices() {
			for _, name := range slice.Clusters {
				home[name] = slice.Number
			}
		}
		writes := map[string]int{}
		for _, write := range c.plan().Writes {
			if write.Verb == plan.UpdateDecisions || write.Verb == plan.Create {
				writes[write.Slice.Name]++
			}
		}
		for _, slice := range c.state.SlicesOf(c.key) {
			owner, number, own := plan.Owner(slice)
			moves := !own || owner != c.key
			for _, decision := range slice.Status.Decisions {
				to, stays := home[decision.ClusterName]
				moves = moves || stays && to != number || copies[decision.ClusterName] > 1
			}
			if n := writes[slice.Name]; n > 1 && !moves {
				t.Errorf("%s: slice %s is filled %d times", at, slice.Name, n)
			}
		}
	})
}
