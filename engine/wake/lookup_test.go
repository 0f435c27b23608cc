package wake_test

import (
	"fmt"
	"testing"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/celenv"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/program"
	"github.com/berth-project/berth/engine/wake"
)

// TestIndexAgreesWithANaiveScan applies random events to random fleets. After each change of a cluster, the index must
// return exactly the placements that a scan of every placement finds.
func TestIndexAgreesWithANaiveScan(t *testing.T) {
	env, touched, untouched := enginetest.Env(t), 0, 0
	for seed := range uint64(100) {
		random := enginetest.NewRandom(seed)
		state := random.FullState
		if seed%2 == 0 {
			state = random.State
		}
		live := enginetest.NewLive(state(1+int(seed%9)), env)
		for n := range 60 {
			if random.Chance(30) {
				random.FullEvent(live)
				continue
			}
			before := live.Snapshot
			clear(live.Woken)
			what := random.ClusterEvent(live)
			want := scan(live, before, env)
			for _, key := range live.State.Keys() {
				if got := live.Woken[key]; got != want[key] {
					t.Fatalf("seed %d, event %d, %s: %s touched is %v, want %v: %+v", seed, n, what, key, got, want[key], live.State.Placements[key].Spec)
				}
			}
			touched, untouched = touched+len(live.Woken), untouched+len(live.State.Placements)-len(live.Woken)
		}
	}
	if touched < 1000 || untouched < 1000 {
		t.Errorf("%d times a placement was touched, and %d times not: too few for a test", touched, untouched)
	}
}

// scan checks every placement for the change that one event made to one cluster.
func scan(live *enginetest.Live, before *fleet.Snapshot, env *celenv.Env) map[fleet.Key]bool {
	n := naiveIndex{fleet: live.Snapshot}
	for id := range max(before.IDLimit(), live.Snapshot.IDLimit()) {
		if was, is := before.Cluster(id), live.Snapshot.Cluster(id); was != is {
			n.before, n.after = was, is
		}
	}
	out := map[fleet.Key]bool{}
	if n.before == n.after {
		return out
	}
	for _, key := range live.State.Keys() {
		compiled, _ := program.Compile(live.State.Placements[key], env)
		if n.touches(key, compiled) {
			out[key] = true
		}
	}
	return out
}

// TestClusterChangedAllocatesNothing has 1,000 placements. The change touches half of them.
func TestClusterChangedAllocatesNothing(t *testing.T) {
	index, env := wake.NewIndex(), enginetest.Env(t)
	s := enginetest.NewState(enginetest.Set("all").Obj()).Bind("ns", "all").Snapshot()
	for i := range 1000 {
		selected := clusterv1beta1.ClusterSelector{LabelSelector: enginetest.LabelIs("stage", []string{"prod", "dev"}[i%2])}
		compiled, faults := program.Compile(enginetest.Placement("ns", fmt.Sprint(i)).Number(int32(i)).Predicate(selected).Obj(), env)
		if len(faults) > 0 {
			t.Fatal(faults.ToAggregate())
		}
		index.Put(s, compiled.Key, compiled)
	}
	before, after := fleet.NewCluster(c("a").Label("stage", "dev").Obj()), fleet.NewCluster(c("a").Label("stage", "test").Obj())
	if got := len(index.ClusterChanged(s, before, after)); got != 500 {
		t.Fatalf("%d placements are touched, want 500", got)
	}
	if got := testing.AllocsPerRun(10, func() { index.ClusterChanged(s, before, after) }); got > 0 {
		t.Errorf("%v allocations", got)
	}
}
