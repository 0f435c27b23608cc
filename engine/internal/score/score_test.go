package score_test

import (
	"testing"
	"time"

	"github.com/bits-and-blooms/bitset"
	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/internal/score"
	"github.com/berth-project/berth/engine/program"
)

// scoresOf returns what a prioritizer gives to each cluster of a state, all of them candidates of ns/p.
func scoresOf(w *enginetest.State, by program.Prioritizer, retainedOnly ...string) (values map[string]int64, column score.Column) {
	s := w.Snapshot()
	key := fleet.Key{Namespace: "ns", Name: "p"}
	in := score.Input{Snapshot: s, Key: key, Incumbents: &bitset.BitSet{}, RetainedOnly: &bitset.BitSet{}}
	for id := range s.Clusters() {
		in.Candidates = append(in.Candidates, id)
	}
	for id := range s.Incumbents(key).All() {
		in.Incumbents.Set(id)
	}
	for _, name := range retainedOnly {
		id, _ := s.ID(name)
		in.RetainedOnly.Set(id)
	}
	column = score.Compute(in, by, make([]int32, len(in.Candidates)))
	values = map[string]int64{}
	for i, id := range in.Candidates {
		values[s.Name(id)] = int64(column.Values[i])
	}
	return values, column
}

func stateOf(clusters ...*enginetest.ClusterBuilder) *enginetest.State {
	w := enginetest.NewState()
	for _, cluster := range clusters {
		w.Add(cluster.Obj())
	}
	return w
}

func threeClusters() *enginetest.State {
	return stateOf(enginetest.Cluster("c1"), enginetest.Cluster("c2"), enginetest.Cluster("c3"))
}

// withDecisions adds decisions of other placements, one for each list.
func withDecisions(w *enginetest.State, lists ...[]string) *enginetest.State {
	for i, list := range lists {
		w.Add(enginetest.Slice("elsewhere", string(rune('a'+i)), 1, list...).Obj())
	}
	return w
}

func TestFormulas(t *testing.T) {
	balance := program.Prioritizer{Kind: program.Balance, Weight: 1}
	against := program.Prioritizer{Kind: program.Balance, Weight: -1}
	cpu := program.Prioritizer{Kind: program.AllocatableCPU, Weight: 1}
	memory := program.Prioritizer{Kind: program.AllocatableMemory, Weight: 1}
	mine := enginetest.Slice("ns", "p", 1, "c1").Obj()
	sized := func(amounts ...string) *enginetest.State {
		w := enginetest.NewState()
		for i, amount := range amounts {
			w.Add(enginetest.Cluster("c" + string(rune('1'+i))).CPU(amount).Memory(amount).Obj())
		}
		return w
	}
	for name, tc := range map[string]struct {
		state        *enginetest.State
		by           program.Prioritizer
		retainedOnly []string
		want         map[string]int64
	}{
		"Balance without decisions gives all 100": {state: threeClusters(), by: balance, want: map[string]int64{"c1": 100, "c2": 100, "c3": 100}},
		"6: Balance with 2, 1 and 1 decisions": {
			state: withDecisions(threeClusters(), []string{"c1", "c2"}, []string{"c1", "c3"}), by: balance,
			want: map[string]int64{"c1": -100, "c2": 0, "c3": 0},
		},
		"6: Balance with 3, 1 and 0 decisions": {
			state: withDecisions(threeClusters(), []string{"c1", "c2"}, []string{"c1"}, []string{"c1"}), by: balance,
			want: map[string]int64{"c1": -100, "c2": 32, "c3": 100},
		},
		"Balance truncates toward zero before it doubles": {
			state: withDecisions(threeClusters(), []string{"c1", "c2"}, []string{"c1", "c2"}, []string{"c1"}), by: balance,
			want: map[string]int64{"c1": -100, "c2": -32, "c3": 100},
		},
		"Balance counts a placement once, however its slices are torn": {
			state: withDecisions(threeClusters(), []string{"c1", "c1", "c2"}).Add(enginetest.Slice("elsewhere", "a", 2, "c1").Obj()), by: balance,
			want: map[string]int64{"c1": -100, "c2": -100, "c3": 100},
		},
		"Balance measures by the most chosen of all clusters, candidate or gone": {
			state: withDecisions(threeClusters(), []string{"gone", "c1"}, []string{"gone"}), by: balance,
			want: map[string]int64{"c1": 0, "c2": 100, "c3": 100},
		},
		"Balance leaves the placement's own decisions out": {
			state: threeClusters().Add(enginetest.Slice("ns", "p", 1, "c1", "c2").Obj()), by: balance,
			want: map[string]int64{"c1": 100, "c2": 100, "c3": 100},
		},
		"Balance gives an incumbent the best there is": {
			state: withDecisions(threeClusters(), []string{"c1", "c2"}, []string{"c1"}).Add(mine), by: balance,
			want: map[string]int64{"c1": 100, "c2": 0, "c3": 100},
		},
		"Balance gives an incumbent the best there is for a negative weight": {
			state: withDecisions(threeClusters(), []string{"c2"}).Add(mine), by: against, want: map[string]int64{"c1": -100, "c2": -100, "c3": 100},
		},
		"7: Steady gives an incumbent 100 and others 0": {
			state: threeClusters().Add(mine), by: program.Prioritizer{Kind: program.Steady, Weight: 1},
			want: map[string]int64{"c1": 100, "c2": 0, "c3": 0},
		},
		"Steady with a negative weight counts as nothing": {
			state: threeClusters().Add(mine), by: program.Prioritizer{Kind: program.Steady, Weight: -1},
			want: map[string]int64{"c1": 0, "c2": 0, "c3": 0},
		},
		"8: allocatable 10, 20 and 30":      {state: sized("10", "20", "30"), by: cpu, want: map[string]int64{"c1": -100, "c2": 0, "c3": 100}},
		"8: all have the same":              {state: sized("10", "10"), by: memory, want: map[string]int64{"c1": 100, "c2": 100}},
		"allocatable truncates toward zero": {state: sized("0", "1", "3"), by: memory, want: map[string]int64{"c1": -100, "c2": -33, "c3": 100}},
		"amounts above the range of a float": {
			state: sized("-1e400", "0", "1e400"), by: memory,
			want: map[string]int64{"c1": -100, "c2": 0, "c3": 100},
		},
		"8: a cluster without capacity is in the middle": {
			state: sized("10", "30").Add(enginetest.Cluster("c3").Allocatable(clusterv1.ResourceCPU, "99").Obj()), by: cpu,
			want: map[string]int64{"c1": -100, "c2": 100, "c3": 0},
		},
		"no cluster reports the resource": {state: threeClusters(), by: cpu, want: map[string]int64{"c1": 0, "c2": 0, "c3": 0}},
		"a cluster that is retained only has a place on the scale": {
			state: sized("10", "20", "30"), by: cpu, retainedOnly: []string{"c3"}, want: map[string]int64{"c1": -100, "c2": 0, "c3": 100},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := scoresOf(tc.state, tc.by, tc.retainedOnly...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAddOnScores(t *testing.T) {
	at := enginetest.Epoch
	w := stateOf(enginetest.Cluster("plain"), enginetest.Cluster("none"), enginetest.Cluster("unnamed"), enginetest.Cluster("old"),
		enginetest.Cluster("edge"), enginetest.Cluster("wild"), enginetest.Cluster("stale")).
		Add(enginetest.Score("plain", "r").Value("s", 7).Value("t", 9).Obj()).
		Add(enginetest.Score("unnamed", "r").Value("t", 9).Obj()).
		Add(enginetest.Score("old", "r").Value("s", 9).ValidUntil(at.Add(-1)).Obj()).
		Add(enginetest.Score("stale", "r").Value("t", 9).ValidUntil(at.Add(-1)).Obj()).
		Add(enginetest.Score("edge", "r").Value("s", 8).ValidUntil(at).Obj()).
		Add(enginetest.Score("wild", "r").Value("s", 1000).Obj())
	got, column := scoresOf(w, program.Prioritizer{Kind: program.AddOn, Resource: "r", Score: "s", Weight: 1})
	want := map[string]int64{"plain": 7, "none": 0, "unnamed": 0, "old": 0, "edge": 8, "wild": 1000, "stale": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	if column.Expired != 1 {
		t.Errorf("expired %d, want 1: only old gives the score, and is out of date", column.Expired)
	}
	if want := at.Add(time.Nanosecond); !column.Until.Equal(want) {
		t.Errorf("until %v, want %v: a score counts at the very instant it is valid until", column.Until, want)
	}
}
