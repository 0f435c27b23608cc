package selection_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/verdict"
)

func p() *enginetest.PlacementBuilder { return enginetest.Placement("ns", "p").Number(1) }

func TestChoice(t *testing.T) {
	rather := func(name string) *enginetest.ClusterBuilder {
		return enginetest.Cluster(name).Taint("old", clusterv1.TaintEffectPreferNoSelect, enginetest.Epoch)
	}
	both := []*enginetest.ClusterBuilder{rather("a"), enginetest.Cluster("b")}
	plain := []*enginetest.ClusterBuilder{enginetest.Cluster("a"), enginetest.Cluster("b")}
	for name, tc := range map[string]struct {
		placement *enginetest.PlacementBuilder
		clusters  []*enginetest.ClusterBuilder
		incumbent string
		elsewhere []string
		want      []string
	}{
		"ties go by name":                  {placement: p(), clusters: plain, want: []string{"a"}},
		"a higher score goes first":        {placement: p().AddOn("r", "s", 1), clusters: plain, want: []string{"b"}},
		"a negative weight turns it round": {placement: p().AddOn("r", "s", -1), clusters: plain, want: []string{"a"}},
		"Balance alone does not displace an incumbent": {
			placement: p().Mode("Exact").BuiltIn("Balance", 1), clusters: plain, incumbent: "b",
			elsewhere: []string{"b"}, want: []string{"b"},
		},
		"without Balance and Steady the name decides": {placement: p().Mode("Exact"), clusters: plain, incumbent: "b", want: []string{"a"}},
		"PreferNoSelect goes before any score":        {placement: p().AddOn("r", "t", 10), clusters: both, want: []string{"b"}},
		"PreferNoSelect is taken where no other is":   {placement: p(), clusters: both[:1], want: []string{"a"}},
		"PreferNoSelect that is tolerated does nothing": {
			placement: p().Tolerate(enginetest.Tolerates("old", "")), clusters: both,
			want: []string{"a"},
		},
		"PreferNoSelect whose toleration is over counts": {
			placement: p().Tolerate(enginetest.TolerateFor("old", "", 1)), clusters: both, want: []string{"b"},
		},
		"PreferNoSelect does not displace an incumbent": {placement: p(), clusters: both, incumbent: "a", want: []string{"a"}},
		"PreferNoSelect displaces an incumbent where Steady is off": {
			placement: p().BuiltIn(clusterv1beta1.PrioritizerSteady, 0), clusters: both, incumbent: "a", want: []string{"b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.NewState(tc.placement.Obj(), enginetest.Set("all").Obj()).Bind("ns", "all").At(enginetest.Epoch.Add(1e10)).
				Add(enginetest.Score("b", "r").Value("s", 50).Obj()).Add(enginetest.Score("a", "r").Value("t", 100).Obj())
			for _, cluster := range tc.clusters {
				w.Add(cluster.In("all").Obj())
			}
			if tc.incumbent != "" {
				w.Add(enginetest.Slice("ns", "p", 1, tc.incumbent).Obj())
			}
			if tc.elsewhere != nil {
				w.Add(enginetest.Slice("other", "q", 1, tc.elsewhere...).Obj())
			}
			if diff := cmp.Diff(tc.want, enginetest.Decide(t, w).Clusters()); diff != "" {
				t.Errorf("chosen (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRankOfTheOutranked(t *testing.T) {
	w := enginetest.NewState(p().AddOn("r", "s", 1).Obj(), enginetest.Set("all").Obj()).Bind("ns", "all")
	for name, value := range map[string]int32{"a": 30, "b": 40, "c": 50, "d": 90} {
		cluster := enginetest.Cluster(name).In("all")
		if name == "d" {
			cluster.Taint("old", clusterv1.TaintEffectPreferNoSelect, enginetest.Epoch)
		}
		w.Add(cluster.Obj()).Add(enginetest.Score(name, "r").Value("s", value).Obj())
	}
	result := enginetest.Decide(t, w)
	got := map[string]verdict.Verdict{}
	for id, cluster := range result.Trace.Snapshot.Clusters() {
		got[cluster.Name()] = result.Trace.Verdict(id)
	}
	want := map[string]verdict.Verdict{
		"a": {Code: verdict.Outranked, Argument: verdict.Rank{Position: 3, Score: 130, Cut: 150}},
		"b": {Code: verdict.Outranked, Argument: verdict.Rank{Position: 2, Score: 140, Cut: 150}},
		"c": {Code: verdict.Selected},
		"d": {Code: verdict.Outranked, Argument: verdict.Rank{Position: 4, Score: 190, Cut: 150, Penalized: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	counts := map[verdict.Code]int{}
	for id := range result.Trace.Snapshot.Clusters() {
		counts[result.Trace.VerdictWithoutRank(id).Code]++
	}
	if diff := cmp.Diff(map[verdict.Code]int{verdict.Selected: 1, verdict.Outranked: 3}, counts); diff != "" {
		t.Errorf("tally (-want +got):\n%s", diff)
	}
}
