package explain_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/explain"
)

// one explains the cluster "c" in a state of one placement.
func one(t *testing.T, w *enginetest.State) explain.Cluster {
	t.Helper()
	of := explain.Of(enginetest.Decide(t, w), w.Placements[enginetest.OnlyPlacement(t, w)], nil)
	found, ok := of.Find("c")
	if !ok {
		t.Fatal("the explanation does not have the cluster")
	}
	return *found
}

func in(placement *enginetest.PlacementBuilder, clusters ...*enginetest.ClusterBuilder) *enginetest.State {
	w := enginetest.NewState(enginetest.Set("s").Obj(), placement.Obj()).Bind("ns", "s")
	for _, cluster := range clusters {
		w.Add(cluster.Obj())
	}
	return w
}

// costly exceeds the cost limit on a cluster with the label "much".
const costly = `has(managedCluster.metadata.labels.much) ? [1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, ` +
	`[1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, ` +
	`a + b + c + d + e + f > 0)))))) : true`

func TestExplanationOfACluster(t *testing.T) {
	p := func() *enginetest.PlacementBuilder { return enginetest.Placement("ns", "p").Mode("Exact") }
	c := func() *enginetest.ClusterBuilder { return enginetest.Cluster("c").In("s") }
	at := enginetest.Epoch.Add(10 * time.Minute)
	sets := []string{"s"}
	for name, tc := range map[string]struct {
		state *enginetest.State
		want  explain.Cluster
	}{
		"selected": {in(p(), c()), explain.Cluster{
			Name: "c", Verdict: "Selected", Selected: true, Group: &explain.Group{}, Sets: sets, Rank: 1,
		}},
		"in a group, of a tier": {
			in(p().Labels("region", "eu").GroupByLabel("canary", "region", "eu").TierOf("first", "c"), c().Label("region", "eu")),
			explain.Cluster{
				Name: "c", Verdict: "Selected", Selected: true, Group: &explain.Group{Name: "canary"}, Sets: sets, Tier: "first",
				Rank: 1,
			},
		},
		"out of sets": {in(p(), enginetest.Cluster("c")), explain.Cluster{
			Name: "c", Verdict: "OutsideSets", Why: "in no set that the placement may choose from",
		}},
		"terminating": {in(p(), c().Terminating()), explain.Cluster{Name: "c", Verdict: "Terminating", Why: "being deleted", Sets: sets}},
		"a mismatch": {
			in(p().Labels("region", "eu").Labels("gpu", "yes"), c().Label("region", "us"), enginetest.Cluster("d").In("s")),
			explain.Cluster{
				Name: "c", Verdict: "Mismatch", Why: "not label region=eu and not label gpu=yes", Sets: sets,
				Clauses: []explain.Clause{{Text: "label region=eu", Has: "us"}, {Predicate: 1, Text: "label gpu=yes", Lacks: true}},
			},
		},
		"an expression that fails": {
			in(p().CEL(`managedCluster.metadata.labels["a"] == "1"`), c(), enginetest.Cluster("d").In("s").Label("a", "1")),
			explain.Cluster{
				Name: "c", Verdict: "Mismatch", Why: `managedCluster.metadata.labels["a"] == "1": no such key: a`, Sets: sets,
				Clauses: []explain.Clause{{Text: `managedCluster.metadata.labels["a"] == "1"`, Problem: "no such key: a"}},
			},
		},
		"an expression that costs too much": {in(p().CEL(costly), c().Label("much", "yes"), enginetest.Cluster("d").In("s")), explain.Cluster{
			Name: "c", Verdict: "TooCostly", Why: costly + ": the evaluation ran over its cost limit", Sets: sets,
			Clauses: []explain.Clause{{Text: costly, Problem: "the evaluation ran over its cost limit"}},
		}},
		"in no tier": {in(p().TierOf("first", "d"), c(), enginetest.Cluster("d").In("s")), explain.Cluster{
			Name: "c", Verdict: "OutsideTiers", Why: "in no tier", Sets: sets,
		}},
		"tainted": {
			in(p().Tolerate(enginetest.Tolerates("gpu", clusterv1.TaintEffectNoSelectIfNew)),
				c().TaintValue("gpu", "a", clusterv1.TaintEffectNoSelect, enginetest.Epoch)),
			explain.Cluster{
				Name: "c", Verdict: "Tainted", Why: "taint gpu=a:NoSelect", Sets: sets,
				Taint: &explain.Taint{Text: "gpu=a:NoSelect", Since: new(enginetest.Epoch), Nearest: "gpu:NoSelectIfNew, which has another effect"},
			},
		},
		"a toleration that ran out": {
			in(p().Tolerate(enginetest.TolerateFor("gpu", "", 60)), c().Taint("gpu", clusterv1.TaintEffectNoSelect, enginetest.Epoch)).At(at),
			explain.Cluster{
				Name: "c", Verdict: "Expired", Why: "taint gpu:NoSelect, tolerated until 2026-03-01T12:01:00Z", Sets: sets,
				Taint: &explain.Taint{
					Text: "gpu:NoSelect", Since: new(enginetest.Epoch), ExpiredAt: new(enginetest.Epoch.Add(time.Minute)),
					Nearest: "gpu, which lasts 60 seconds",
				},
			},
		},
		"kept apart": {
			in(p().Apart(clusterv1beta1.TopologyKeyTypeLabel, "zone"), c().Label("zone", "z"), enginetest.Cluster("b").In("s").Label("zone", "z")),
			explain.Cluster{
				Name: "c", Verdict: "Capped", Why: "anti-affinity over label zone: b has z already", Sets: sets, Rank: 2,
				Constraint: &explain.Constraint{Text: "anti-affinity over label zone", Domain: "z", By: "b"},
			},
		},
		"beaten": {
			in(p().Number(1).AddOn("load", "cpu", 2), c(), enginetest.Cluster("d").In("s")).
				Add(enginetest.Score("c", "load").Value("cpu", 10).Obj()).Add(enginetest.Score("d", "load").Value("cpu", 30).Obj()),
			explain.Cluster{
				Name: "c", Verdict: "Beaten", Why: "others rank higher; the last selected has score 60", Sets: sets, Total: 20, Rank: 2,
				Scores:    []explain.Score{{Prioritizer: "AddOn/load/cpu", Raw: "10", Value: 10, Weight: 2}},
				Outranked: &explain.Outranked{By: "d", Points: 40},
			},
		},
		"not wanted": {in(p().Number(0), c()), explain.Cluster{Name: "c", Verdict: "Beaten", Why: "no cluster is wanted", Sets: sets, Rank: 1}},
		"waiting": {
			in(p().Number(1).TierOf("first", "c").TierOf("second", "d").Failback(3600).Decided().Waiting(enginetest.Epoch, "c"),
				c(), enginetest.Cluster("d").In("s")).Add(enginetest.Slice("ns", "p", 1, "d").Obj()).At(at),
			explain.Cluster{
				Name: "c", Verdict: "Waiting", Why: "in an earlier tier again, takes over at 2026-03-01T13:00:00Z", Sets: sets, Tier: "first", Rank: 1,
				Until: new(enginetest.Epoch.Add(time.Hour)),
			},
		},
		"held": {
			in(p().Labels("a", "1").Budget("1", time.Hour).Decided().Spent(enginetest.Epoch, 1).Held(enginetest.Epoch, "c"), c()).
				Add(enginetest.Slice("ns", "p", 1, "c").Obj()).At(at),
			explain.Cluster{
				Name: "c", Verdict: "Held", Selected: true, Why: "Mismatch, the disruption policy drops it at 2026-03-01T13:00:00Z", Sets: sets,
				Group: &explain.Group{}, Underlying: "Mismatch", Until: new(enginetest.Epoch.Add(time.Hour)),
			},
		},
		"kept": {
			in(p().Number(-1), c()).Add(enginetest.Slice("ns", "p", 1, "c").Obj()),
			explain.Cluster{Name: "c", Verdict: "Kept", Selected: true, Group: &explain.Group{}, Sets: sets},
		},
		"undecided": {in(p().Number(-1), c()), explain.Cluster{
			Name: "c", Verdict: "Undecided",
			Why: "the placement is misconfigured or its last edit is held", Sets: sets,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, one(t, tc.state)); diff != "" {
				t.Errorf("cluster (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRawInputs(t *testing.T) {
	score := func(until time.Time) *enginetest.State {
		return in(enginetest.Placement("ns", "p").Mode("Exact").AddOn("load", "cpu", 1), enginetest.Cluster("c").In("s")).
			Add(enginetest.Score("c", "load").Value("cpu", 10).ValidUntil(until).Obj()).At(enginetest.Epoch.Add(time.Second))
	}
	by := func(name string, cluster *enginetest.ClusterBuilder) *enginetest.State {
		return in(enginetest.Placement("ns", "p").Mode("Exact").BuiltIn(name, 1), cluster.In("s"))
	}
	for name, tc := range map[string]struct {
		state *enginetest.State
		want  string
	}{
		"balance":             {by("Balance", enginetest.Cluster("c")).Add(enginetest.Slice("ns", "q", 1, "c").Obj()), "in 1 other placements"},
		"balance without own": {by("Balance", enginetest.Cluster("c")).Add(enginetest.Slice("ns", "p", 1, "c").Obj()), "in 0 other placements"},
		"steady":              {by("Steady", enginetest.Cluster("c")), "not selected before"},
		"steady and seated":   {by("Steady", enginetest.Cluster("c")).Add(enginetest.Slice("ns", "p", 1, "c").Obj()), "selected before"},
		"cpu":                 {by("ResourceAllocatableCPU", enginetest.Cluster("c").CPU("1500m")), "1.5 CPUs allocatable"},
		"no cpu":              {by("ResourceAllocatableCPU", enginetest.Cluster("c")), "not reported"},
		"memory":              {by("ResourceAllocatableMemory", enginetest.Cluster("c").Memory("64Gi")), "64 GiB allocatable"},
		"a score":             {score(enginetest.Epoch.Add(time.Hour)), "10"},
		"a score out of date": {score(enginetest.Epoch), "10, out of date since 2026-03-01T12:00:00Z"},
		"no score": {
			in(enginetest.Placement("ns", "p").Mode("Exact").AddOn("load", "cpu", 1), enginetest.Cluster("c").In("s")),
			"not given",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := one(t, tc.state)
			if len(got.Scores) != 1 || got.Scores[0].Raw != tc.want {
				t.Errorf("scores %+v, want %q", got.Scores, tc.want)
			}
		})
	}
}

// TestExplanationsAreCompleteAndRedacted explains decisions of random states. Every cluster has exactly one verdict, the
// selected ones are those of the result, the rows have the same clusters as the list, and no hidden cluster is named.
func TestExplanationsAreCompleteAndRedacted(t *testing.T) {
	env := enginetest.Env(t)
	for seed := range uint64(300) {
		for kind, w := range map[string]*enginetest.State{
			"plain": enginetest.NewRandom(seed).State(2), "full": enginetest.NewRandom(seed).FullState(2),
		} {
			for _, key := range w.Keys() {
				at := fmt.Sprintf("%s state %d, %s", kind, seed, key)
				result := enginetest.DecidePlacement(w.Snapshot(), w.Placements[key], env)
				of := explain.Of(result, w.Placements[key], nil)
				if diff := cmp.Diff(sorted(result.Clusters()), of.Chosen()); diff != "" {
					t.Errorf("%s: chosen (-want +got):\n%s", at, diff)
				}
				if missing := unexplained(w, &of); len(missing) > 0 {
					t.Errorf("%s: without one verdict: %v", at, missing)
				}
				if names := leakedNames(t, w, of, func(visible func(string) bool) explain.Explanation {
					return explain.Of(result, w.Placements[key], visible)
				}); len(names) > 0 {
					t.Errorf("%s: it names %v", at, names)
				}
			}
		}
	}
}

func sorted(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return slices.Sorted(slices.Values(names))
}

// unexplained returns the clusters that do not have exactly one verdict, or are not in exactly one row.
func unexplained(w *enginetest.State, of *explain.Explanation) []string {
	listed, rows := map[string]int{}, map[string]int{}
	for _, cluster := range of.Clusters {
		if cluster.Verdict != "" && cluster.Verdict != "Unknown" {
			listed[cluster.Name]++
		}
	}
	for _, row := range of.Rows() {
		for _, cluster := range row.Clusters {
			rows[cluster.Name]++
		}
	}
	var out []string
	for name := range w.Clusters {
		if listed[name] != 1 || rows[name] != 1 {
			out = append(out, name)
		}
	}
	return out
}

var clusterNames = regexp.MustCompile(`c[0-9]{3}`)

// leakedNames returns the hidden clusters that are named to a reader of the other clusters, except for those named in the spec
// or in the visible clusters.
func leakedNames(t *testing.T, w *enginetest.State, all explain.Explanation,
	of func(visible func(string) bool) explain.Explanation,
) []string {
	t.Helper()
	hidden := map[string]bool{}
	var known strings.Builder
	fmt.Fprint(&known, asJSON(t, w.Placements[all.Key()].Spec))
	for i, cluster := range all.Clusters {
		if i%2 == 0 {
			hidden[cluster.Name] = true
		} else {
			fmt.Fprint(&known, asJSON(t, w.Clusters[cluster.Name]))
		}
	}
	redacted := of(func(name string) bool { return !hidden[name] })
	if redacted.Hidden != len(hidden) {
		t.Errorf("%d clusters are hidden, want %d", redacted.Hidden, len(hidden))
	}
	var out []string
	for _, name := range clusterNames.FindAllString(asJSON(t, redacted), -1) {
		if hidden[name] && !strings.Contains(known.String(), name) {
			out = append(out, name)
		}
	}
	return out
}

func asJSON(t *testing.T, of any) string {
	t.Helper()
	data, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
