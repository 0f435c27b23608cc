package engine_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
	"github.com/berth-project/berth/engine/plan"
)

// TestAllocations bounds the allocations of frequent operations in a fleet of 10,000. Unlike times, they are the same on every
// machine.
func TestAllocations(t *testing.T) {
	for name, tc := range map[string]struct {
		of    func(w *enginetest.State) func()
		state func() *enginetest.State
		most  float64
	}{
		// A large ID set takes two allocations where it is combined with a bitset.
		"ten are chosen":                               {schedule(t), func() *enginetest.State { return ten("prod") }, 50},
		"ten are chosen of nearly all":                 {schedule(t), func() *enginetest.State { return ten("prod", "test", "dev", "lab") }, 60},
		"ten are chosen again":                         {schedule(t), func() *enginetest.State { return decided(t, ten("prod")) }, 60},
		"ten are chosen where one in fifty is tainted": {schedule(t), func() *enginetest.State { return tainted(ten("prod")) }, 50},
		"a cluster sends a heartbeat":                  {heartbeat, func() *enginetest.State { return ten("prod") }, 40},
	} {
		t.Run(name, func(t *testing.T) {
			if got := testing.AllocsPerRun(20, tc.of(tc.state())); got > tc.most {
				t.Errorf("%v allocations, want %v at most", got, tc.most)
			}
		})
	}
}

// schedule decides the placement of a state.
func schedule(tb testing.TB) func(w *enginetest.State) func() {
	tb.Helper()
	return func(w *enginetest.State) func() {
		s, p := w.Snapshot(), enginetest.Program(tb, w)
		return func() {
			if got := engine.Schedule(s, p, ledger.Ledger{}).Selected; got != 10 {
				tb.Fatalf("selected %d, want 10", got)
			}
		}
	}
}

// heartbeat applies a heartbeat of one cluster.
func heartbeat(w *enginetest.State) func() {
	s, beats := w.Snapshot(), []*fleet.Cluster{}
	for i := range 2 {
		c := w.Clusters["c00004"].DeepCopy()
		c.ResourceVersion = fmt.Sprint(i)
		c.Status.Conditions = []metav1.Condition{{
			Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(enginetest.Epoch.Add(time.Duration(i) * time.Second)),
		}}
		beats = append(beats, fleet.NewCluster(c))
	}
	n := 0
	return func() {
		e := s.Edit()
		e.SetCluster(beats[n%2])
		s = e.Snapshot()
		n++
	}
}

// decided returns a state after its placement was decided.
func decided(tb testing.TB, w *enginetest.State) *enginetest.State {
	tb.Helper()
	for _, write := range plan.Diff(enginetest.Decide(tb, w), w.Stored(enginetest.OnlyPlacement(tb, w)), w.Now).Writes {
		w.Apply(write)
	}
	return w
}

// tainted returns a state in which one cluster in fifty is tainted, evenly over all labels.
func tainted(w *enginetest.State) *enginetest.State {
	for i := 0; i < len(w.Clusters); i += 50 {
		w.Clusters[fmt.Sprintf("c%05d", i+i/50%4)].Spec.Taints = []clusterv1.Taint{{Key: "gpu", Effect: clusterv1.TaintEffectNoSelect}}
	}
	return w
}
