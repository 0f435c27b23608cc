package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/ledger"
)

// measured is a placement that was decided once, so every further decision is the same.
func measured(b *testing.B, placement *enginetest.PlacementBuilder, clusters int) *enginetest.State {
	b.Helper()
	w := enginetest.NewState(placement.Obj(), enginetest.Set("all").Obj()).Bind("ns", "all").At(enginetest.Epoch.Add(time.Minute))
	for i := range clusters {
		c := enginetest.Cluster(fmt.Sprintf("c%05d", i)).In("all").Label("region", fmt.Sprintf("r%d", i%7)).
			CPU(fmt.Sprint(10 + i%50)).Memory(fmt.Sprintf("%dGi", 10+i%90))
		if i%100 == 1 {
			c.Label("rare", "yes")
		}
		if i%20 == 0 {
			c.Taint("gpu", clusterv1.TaintEffectNoSelect, enginetest.Epoch)
		}
		w.Add(c.Obj())
	}
	return decided(b, w)
}

func BenchmarkSchedule(b *testing.B) {
	region := clusterv1beta1.ClusterSelector{LabelSelector: enginetest.LabelIs("region", "r1")}
	for name, tc := range map[string]struct {
		placement *enginetest.PlacementBuilder
		want      func(clusters int) int
	}{
		"all clusters": {placement(), func(n int) int { return n - (n+19)/20 }},
		"a region":     {placement().Predicate(region).Tolerate(enginetest.Tolerates("gpu", "")), func(n int) int { return (n + 5) / 7 }},
		"the ten roomiest": {
			placement().Number(10).BuiltIn("ResourceAllocatableCPU", 1).BuiltIn("ResourceAllocatableMemory", 1),
			func(n int) int { return min(10, n-(n+19)/20) },
		},
		"by an expression": {
			placement().CEL(`managedCluster.metadata.labels.region == "r1"`).Tolerate(enginetest.Tolerates("gpu", "")),
			func(n int) int { return (n + 5) / 7 },
		},
		"in groups of five": {placement().PerGroup("5"), func(n int) int { return n - (n+19)/20 }},
	} {
		for _, clusters := range []int{10, 1_000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", name, clusters), func(b *testing.B) {
				w := measured(b, tc.placement, clusters)
				s, p := w.Snapshot(), enginetest.Program(b, w)
				b.ReportAllocs()
				for b.Loop() {
					if got := engine.Schedule(s, p, ledger.Ledger{}).Selected; got != tc.want(clusters) {
						b.Fatalf("selected %d, want %d", got, tc.want(clusters))
					}
				}
			})
		}
	}
}

// ten is a placement of ten of 10,000 clusters with a predicate of three terms and four prioritizers. The first term allows some
// of four equally frequent values of a label.
func ten(environments ...string) *enginetest.State {
	three := clusterv1beta1.ClusterSelector{LabelSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		enginetest.Wants("env", metav1.LabelSelectorOpIn, environments...),
		enginetest.Wants("region", metav1.LabelSelectorOpNotIn, "r9"),
		enginetest.Wants("tier", metav1.LabelSelectorOpExists),
	}}}
	p := placement().Number(10).Predicate(three).Mode(clusterv1beta1.PrioritizerPolicyModeExact).
		BuiltIn("Balance", 1).BuiltIn("Steady", 1).BuiltIn("ResourceAllocatableCPU", 2).BuiltIn("ResourceAllocatableMemory", 1)
	w := enginetest.NewState(p.Obj(), enginetest.Set("all").Obj(), elsewhere(10_000)).Bind("ns", "all").At(enginetest.Epoch)
	for i := range 10_000 {
		w.Add(enginetest.Cluster(fmt.Sprintf("c%05d", i)).In("all").Label("env", []string{"prod", "test", "dev", "lab"}[i%4]).
			Label("region", fmt.Sprintf("r%d", i/4%10)).Label("tier", fmt.Sprint(i%3)).
			CPU(fmt.Sprint(10 + i%50)).Memory(fmt.Sprintf("%dGi", 10+i%90)).Obj())
	}
	return w
}

// BenchmarkTen chooses ten of the matching clusters, and ten of nearly all. It fails if the oracle takes less than a hundred
// times as long.
func BenchmarkTen(b *testing.B) {
	for name, tc := range map[string]struct {
		environments []string
		candidates   int
	}{
		"of 2,250": {[]string{"prod"}, 2_250},
		"of all":   {[]string{"prod", "test", "dev", "lab"}, 10_000 - 1_000},
	} {
		b.Run(name, func(b *testing.B) {
			w := ten(tc.environments...)
			naive := measureOracle(b, w)
			s, program := w.Snapshot(), enginetest.Program(b, w)
			b.ReportAllocs()
			for b.Loop() {
				got := engine.Schedule(s, program, ledger.Ledger{})
				if got.Selected != 10 || len(got.Trace.Ranking.Candidates) != tc.candidates {
					b.Fatalf("selected %d of %d, want 10 of %d", got.Selected, len(got.Trace.Ranking.Candidates), tc.candidates)
				}
			}
			naive.compare(b, 100)
		})
	}
}

// BenchmarkAllClusters selects nearly 10,000 of 10,500 clusters into 100 slices. It fails if the oracle takes less than twenty
// times as long for a tenth of them; for all it would take a minute.
func BenchmarkAllClusters(b *testing.B) {
	naive := measureOracle(b, measured(b, placement(), 1_000))
	w := measured(b, placement(), 10_500)
	s, program := w.Snapshot(), enginetest.Program(b, w)
	b.ReportAllocs()
	for b.Loop() {
		if got := engine.Schedule(s, program, ledger.Ledger{}).Slices(); len(got) != 100 {
			b.Fatalf("%d slices, want 100", len(got))
		}
	}
	naive.compare(b, 20)
}

// elsewhere has the clusters that another placement has selected: every third.
func elsewhere(clusters int) *clusterv1beta1.PlacementDecision {
	var names []string
	for i := 0; i < clusters; i += 3 {
		names = append(names, fmt.Sprintf("c%05d", i))
	}
	return enginetest.Slice("elsewhere", "p", 1, names...).Obj()
}

// BenchmarkExpression chooses by an expression over 10,000 clusters. It chooses ten clusters by a new expression, by a
// cached one, and by a cached expression that fails on most clusters. It also chooses all clusters by a cached
// expression. It fails if the oracle, which compiles for each decision, is not slower by the given factors.
func BenchmarkExpression(b *testing.B) {
	const text = `managedCluster.metadata.labels.region == "r1"`
	for name, tc := range map[string]struct {
		next      func(n int) string
		placement *enginetest.PlacementBuilder
		want      int
		least     float64
	}{
		"cold":                   {func(n int) string { return fmt.Sprintf("%s && %d >= 0", text, n) }, placement().Number(10), 10, 1},
		"warm":                   {func(int) string { return text }, placement().Number(10), 10, 100},
		"warm, fails on most":    {func(int) string { return `managedCluster.metadata.labels.rare == "yes"` }, placement().Number(10), 10, 100},
		"warm, none is too many": {func(int) string { return text }, placement(), 1429, 20},
	} {
		b.Run(name, func(b *testing.B) {
			w := measured(b, tc.placement.CEL(tc.next(0)).Tolerate(enginetest.Tolerates("gpu", "")), 10_000)
			naive := measureOracle(b, w)
			s, env, placement := w.Snapshot(), enginetest.Env(b), w.Placements[enginetest.OnlyPlacement(b, w)]
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				placement.Spec.Predicates[0].RequiredClusterSelector.CelSelector.CelExpressions[0] = tc.next(n)
				if got := enginetest.DecidePlacement(s, placement, env).Selected; got != tc.want {
					b.Fatalf("selected %d, want %d", got, tc.want)
				}
			}
			naive.compare(b, tc.least)
		})
	}
}

// spread is a placement over clusters of so many zones in ten regions, N of them spread over a topology.
func spread(b *testing.B, clusters, zones int, wanted int32, policy clusterv1beta1.SpreadPolicy) *enginetest.State {
	b.Helper()
	p := placement().Number(wanted).Obj()
	p.Spec.SpreadPolicy = policy
	w := enginetest.NewState(p, enginetest.Set("all").Obj()).Bind("ns", "all").At(enginetest.Epoch.Add(time.Minute))
	for i := range clusters {
		w.Add(enginetest.Cluster(fmt.Sprintf("c%05d", i)).In("all").
			Label("region", fmt.Sprintf("r%d", i%zones%10)).Label("zone", fmt.Sprintf("z%d", i%zones)).
			CPU(fmt.Sprint(10 + i%50)).Obj())
	}
	return w
}

// BenchmarkSpread chooses some of 10,000 clusters: for the first time, and again without a change. It first compares a
// sample with the oracle. It compares the time with the time of a plain choice of as many clusters.
func BenchmarkSpread(b *testing.B) {
	over := func(hard bool, keys ...string) clusterv1beta1.SpreadPolicy {
		var out clusterv1beta1.SpreadPolicy
		for _, key := range keys {
			term := clusterv1beta1.SpreadConstraintsTerm{TopologyKey: key, TopologyKeyType: clusterv1beta1.TopologyKeyTypeLabel, MaxSkew: 1}
			if hard {
				term.WhenUnsatisfiable = clusterv1beta1.DoNotSchedule
			}
			out.SpreadConstraints = append(out.SpreadConstraints, term)
		}
		return out
	}
	apart := clusterv1beta1.SpreadPolicy{AntiAffinity: []clusterv1beta1.AntiAffinityTerm{
		{TopologyKey: "zone", TopologyKeyType: clusterv1beta1.TopologyKeyTypeLabel},
	}}
	for name, tc := range map[string]struct {
		policy clusterv1beta1.SpreadPolicy
		zones  int
		wanted []int32
	}{
		"plain":                      {zones: 200, wanted: []int32{10, 100, 1_000}},
		"over 200 zones":             {over(false, "zone"), 200, []int32{10, 100, 1_000}},
		"over 200 zones, hard":       {over(true, "zone"), 200, []int32{10, 100, 1_000}},
		"over 10 regions, 200 zones": {over(false, "region", "zone"), 200, []int32{10, 100, 1_000}},
		"over 10,000 zones":          {over(false, "region", "zone"), 10_000, []int32{1_000}},
		"apart in 10,000 zones":      {apart, 10_000, []int32{1_000}},
	} {
		sample := spread(b, 300, min(tc.zones, 100), 40, tc.policy)
		if want, got := oracle(b).Decide(sample, enginetest.OnlyPlacement(b, sample)),
			enginetest.OutcomeAfter(sample, enginetest.Decide(b, sample)); want.JSON() != got.JSON() {
			b.Fatalf("%s: a sample is decided otherwise by the oracle (-oracle +engine):\n%s", name, cmp.Diff(want, got))
		}
		for _, wanted := range tc.wanted {
			plain := spreadOut(b, 10_000, tc.zones, wanted, clusterv1beta1.SpreadPolicy{})
			for when, run := range spreadOut(b, 10_000, tc.zones, wanted, tc.policy) {
				b.Run(fmt.Sprintf("%s/%d/%s", name, wanted, when), func(b *testing.B) { compareTimes(b, plain[when], run, int(wanted)) })
			}
		}
	}
}

// BenchmarkWorst measures decisions that once took quadratic time. Three levels of 8,000 clusters in one outer domain,
// each with a zone and a rack of its own, took 16 s. Groups of a single cluster that grow from 10 to 8,000 took 0.76 s.
// The benchmark compares each with a plain choice of all.
func BenchmarkWorst(b *testing.B) {
	const clusters = 8_000
	plain, want := selects(b, many(clusters, placement().Number(clusters).Obj(), nil), ledger.Ledger{}, clusters)
	for name, tc := range map[string]struct {
		of   sized
		most float64
	}{
		"three levels in one outer domain":       {threeLevels(1, false), 500},
		"three levels in one outer domain, hard": {threeLevels(1, true), 500},
		"groups of one that grow from ten":       {groupsOfOne, 500},
	} {
		b.Run(name, func(b *testing.B) {
			run, selected := tc.of(b, clusters)
			if got := plain(); got != want {
				b.Fatalf("the plain choice selects %d, want %d", got, want)
			}
			if ratio := compareTimes(b, plain, run, selected); ratio > tc.most {
				b.Errorf("it takes %.3g times as long as a plain choice, want %g at most", ratio, tc.most)
			}
		})
	}
}

// spreadOut returns the runs of a placement: the first run, and a second run without a change.
func spreadOut(b *testing.B, clusters, zones int, wanted int32, policy clusterv1beta1.SpreadPolicy) map[string]func() int {
	b.Helper()
	w := spread(b, clusters, zones, wanted, policy)
	p, first := enginetest.Program(b, w), w.Snapshot()
	e := first.Edit()
	e.SetSlices(p.Key, engine.Schedule(first, p, ledger.Ledger{}).Slices())
	again := e.Snapshot().At(first.Now)
	return map[string]func() int{
		"first": func() int { return engine.Schedule(first, p, ledger.Ledger{}).Selected },
		"again": func() int { return engine.Schedule(again, p, ledger.Ledger{}).Selected },
	}
}

// compareTimes times runs that select so many clusters. It reports and returns how many times as long they take as plain
// runs.
func compareTimes(b *testing.B, plain, run func() int, want int) (ratio float64) {
	b.Helper()
	b.ReportAllocs()
	var beside, taken time.Duration
	for b.Loop() {
		b.StopTimer()
		start := time.Now()
		plain()
		beside += time.Since(start)
		b.StartTimer()
		start = time.Now()
		if got := run(); got != want {
			b.Fatalf("selected %d, want %d", got, want)
		}
		taken += time.Since(start)
	}
	ratio = float64(taken) / float64(beside)
	b.ReportMetric(ratio, "x-plain")
	return ratio
}

func oracle(b *testing.B) *enginetest.Oracle {
	b.Helper()
	out, err := enginetest.NewOracle()
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// oracleTime is how long the oracle took for a decision.
type oracleTime time.Duration

// measureOracle lets the oracle decide the only placement of a state, and fails if the engine decides otherwise.
func measureOracle(b *testing.B, w *enginetest.State) oracleTime {
	b.Helper()
	oracle, key := oracle(b), enginetest.OnlyPlacement(b, w)
	start := time.Now()
	want := oracle.Decide(w, key)
	taken := time.Since(start)
	if got := enginetest.OutcomeAfter(w, enginetest.Decide(b, w)); want.JSON() != got.JSON() {
		b.Fatalf("the oracle decides otherwise (-oracle +engine):\n%s", cmp.Diff(want, got))
	}
	return oracleTime(taken)
}

// compare reports how many times as long the oracle took as the last measurement, and fails if that is less than least.
func (o oracleTime) compare(b *testing.B, least float64) {
	b.Helper()
	ratio := float64(o) * float64(b.N) / float64(b.Elapsed())
	b.ReportMetric(ratio, "x-oracle")
	if ratio < least {
		b.Errorf("the oracle takes %.3g times as long, want %g at least", ratio, least)
	}
}

// BenchmarkEdit measures a snapshot edit that changes one label of one cluster.
func BenchmarkEdit(b *testing.B) {
	for _, clusters := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(clusters), func(b *testing.B) {
			s := measured(b, placement(), clusters).Snapshot()
			c := []*fleet.Cluster{
				fleet.NewCluster(enginetest.Cluster("c00001").In("all").Label("region", "r1").Obj()),
				fleet.NewCluster(enginetest.Cluster("c00001").In("all").Label("region", "r2").Obj()),
			}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				e := s.Edit()
				e.SetCluster(c[n%2])
				s = e.Snapshot()
			}
			if got := s.ClustersWith(fleet.TermExists).Count(); got != clusters {
				b.Fatalf("%d clusters, want %d", got, clusters)
			}
		})
	}
}
