package enginetest_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/plan"
	"github.com/berth-project/berth/engine/program"
)

// apply applies the writes of a decision to its state.
func (d decided) apply() {
	for _, write := range d.plan().Writes {
		d.state.Apply(write)
	}
}

// where returns the slice and group of every cluster.
func where(groups []fleet.Slice) map[string]fleet.Slice {
	out := map[string]fleet.Slice{}
	for _, slice := range groups {
		for _, name := range slice.Clusters {
			out[name] = fleet.Slice{Number: slice.Number, Group: slice.Group, GroupIndex: slice.GroupIndex}
		}
	}
	return out
}

func TestAClusterThatStaysKeepsItsSliceAndItsGroupWhileOthersComeAndGo(t *testing.T) {
	t.Parallel()
	overSeeds(t, properties, func(t *testing.T, rig harness, seed uint64, at string) {
		random := enginetest.NewRandom(seed + 2<<32)
		live := enginetest.NewLive(random.State(1), rig.env)
		w := live.State
		key := w.Keys()[0]
		first := decided{w, live.Snapshot, key, live.Decide(key)}
		first.apply()
		live.SlicesChanged(key)
		unchanged := maps.Clone(w.Clusters)
		for range 4 {
			random.ClusterEvent(live)
		}
		second := live.Decide(key)
		if !first.result.Decided || !second.Decided {
			return
		}
		before, after := where(first.result.Slices()), where(second.Slices())
		moved := map[int]int{}
		for _, name := range slices.Sorted(maps.Keys(before)) {
			was, is := before[name], after[name]
			if is.Number == 0 || w.Clusters[name] != unchanged[name] || slices.Contains(second.Regrouped, name) {
				continue
			}
			if was.Number != is.Number || was.Group != is.Group {
				t.Errorf("%s: %s moved from slice %d of %q to slice %d of %q", at, name, was.Number, was.Group, is.Number, is.Group)
			}
			if to, seen := moved[was.GroupIndex]; seen && to != is.GroupIndex {
				t.Errorf("%s: the group of %s was torn", at, name)
			}
			moved[was.GroupIndex] = is.GroupIndex
		}
	})
}

func TestDecidingAgainRepairsACrashAfterAnyWrite(t *testing.T) {
	forEachDecision(t, properties/4, func(t *testing.T, rig harness, at string, c decided) {
		writes := c.plan().Writes
		for stop := range writes {
			torn := c.state.Copy()
			for _, write := range writes[:stop] {
				torn.Apply(write)
			}
			again := decided{torn, torn.Snapshot(), c.key, nil}
			again.result = enginetest.DecidePlacement(again.snapshot, torn.Placements[c.key], rig.env)
			at := fmt.Sprintf("%s, crash before write %d", at, stop)
			same(t, at, rig.oracle.Decide(torn, c.key), enginetest.OutcomeAfter(torn, again.result))
			steady(t, at, again)
		}
	})
}

// steady applies a plan write by write and reports a cluster that stays and is missing for a reader.
func steady(t *testing.T, at string, c decided) {
	t.Helper()
	before, wanted := listed(c.state, c.key), set(c.result.Clusters())
	for n, write := range c.plan().Writes {
		c.state.Apply(write)
		now := listed(c.state, c.key)
		for name := range before {
			if wanted[name] && !now[name] {
				t.Errorf("%s: %s is in no slice after write %d (%s %s)", at, name, n, write.Verb, named(write))
			}
		}
	}
	if diff := cmp.Diff(wanted, listed(c.state, c.key)); diff != "" {
		t.Errorf("%s: stored in the end (-want +got):\n%s", at, diff)
	}
}

// TestOtherPlacementsDisplaceNoCluster covers placements ranked by Balance and Steady only. With other prioritizers, a newcomer
// that ranks better may be chosen when other placements release it.
func TestOtherPlacementsDisplaceNoCluster(t *testing.T) {
	held := 0
	forEachDecision(t, properties, func(t *testing.T, rig harness, at string, c decided) {
		if rankedByOthers(t, rig, c.state.Placements[c.key]) {
			return
		}
		held++
		random := enginetest.NewRandom(uint64(len(at)))
		e := c.snapshot.Edit()
		e.SetSlices(c.key, c.result.Slices())
		for i := range 3 {
			var names []string
			for _, name := range slices.Sorted(maps.Keys(c.state.Clusters)) {
				if random.Chance(40) {
					names = append(names, name)
				}
			}
			e.SetSlices(fleet.Key{Namespace: "others", Name: fmt.Sprint(i)}, []fleet.Slice{{Number: 1, Clusters: names}})
		}
		again := enginetest.DecidePlacement(e.Snapshot(), c.state.Placements[c.key], rig.env)
		if diff := cmp.Diff(c.result.Slices(), again.Slices()); diff != "" {
			t.Errorf("%s: slices (-before +after others decided):\n%s", at, diff)
		}
	})
	if held == 0 && *seed == 0 {
		t.Error("every placement ranks by something else")
	}
}

// rankedByOthers reports whether a placement has prioritizers other than Balance and Steady.
func rankedByOthers(t *testing.T, rig harness, placement *clusterv1beta1.Placement) bool {
	t.Helper()
	compiled, faults := program.Compile(placement, rig.env)
	return len(faults) == 0 && slices.ContainsFunc(compiled.Prioritizers, func(p program.Prioritizer) bool {
		return p.Weight != 0 && p.Kind != program.Balance && p.Kind != program.Steady
	})
}

func TestResultsDoNotDependOnTheOrderInWhichASnapshotWasFilled(t *testing.T) {
	forEachDecision(t, properties, func(t *testing.T, rig harness, at string, c decided) {
		e := fleet.Empty().Edit()
		random := enginetest.NewRandom(uint64(len(at)))
		names := slices.Sorted(maps.Keys(c.state.Clusters))
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for i, name := range names {
			e.SetCluster(fleet.NewCluster(enginetest.Cluster(fmt.Sprintf("passing-%d", i)).In("s1").Obj()))
			e.SetCluster(fleet.NewCluster(c.state.Clusters[name]))
			e.DeleteCluster(fmt.Sprintf("passing-%d", random.IntN(i+1)))
		}
		for i := range names {
			e.DeleteCluster(fmt.Sprintf("passing-%d", i))
		}
		for key, score := range c.state.Scores {
			e.SetScore(key.Cluster, fleet.NewScore(score))
		}
		for name, set := range c.state.Sets {
			e.SetSet(fleet.NewSet(set))
			for namespace, bound := range c.state.Bindings {
				if bound[name] {
					e.Bind(namespace, name)
				}
			}
		}
		for key := range c.state.Placements {
			var read []fleet.Slice
			for _, slice := range slices.Backward(c.state.SlicesOf(key)) {
				read = append(read, plan.ReadSlice(slice))
			}
			e.SetSlices(key, read)
		}
		got := enginetest.DecidePlacement(e.Snapshot().At(c.state.Now), c.state.Placements[c.key], rig.env)
		if want, got := enginetest.OutcomeOf(c.result), enginetest.OutcomeOf(got); want.JSON() != got.JSON() {
			t.Errorf("%s (-in order +shuffled):\n%s", at, cmp.Diff(want, got))
		}
	})
}

func TestASnapshotNeverChangesAndEditsOfOneSnapshotAreIndependent(t *testing.T) {
	forEachDecision(t, properties/4, func(t *testing.T, rig harness, at string, c decided) {
		want := enginetest.OutcomeOf(c.result).JSON()
		var branches []*enginetest.Live
		for i := range 3 {
			live := enginetest.NewLive(c.state.Copy(), rig.env)
			live.Snapshot = c.snapshot
			random := enginetest.NewRandom(uint64(len(at) + i))
			for range 10 {
				random.Event(live)
			}
			branches = append(branches, live)
		}
		if got := enginetest.OutcomeOf(enginetest.DecidePlacement(c.snapshot, c.state.Placements[c.key], rig.env)).JSON(); got != want {
			t.Errorf("%s: the snapshot changed:\n%s\n%s", at, want, got)
		}
		for i, live := range branches {
			want := rig.oracle.Decide(live.State, c.key)
			same(t, fmt.Sprintf("%s, branch %d", at, i), want, enginetest.OutcomeAfter(live.State, live.Decide(c.key)))
		}
	})
}
