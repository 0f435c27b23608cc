package run

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-project/berth/bench"
	"github.com/berth-project/berth/bench/hub"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/internal/cli/generate"
)

func newSmallRun() *hubRun {
	f := generate.New(generate.Shape{Clusters: 200, Placements: 50, ScoredPercent: scoredPercent, Seed: fleetSeed})
	out := &hubRun{hubPair: &hubPair{fleet: f}, created: f.Placements[:40:40], spare: f.Placements[40:]}
	for _, cluster := range f.Clusters {
		out.clusters = append(out.clusters, cluster.DeepCopy())
	}
	return out
}

// TestMatchesAgreesWithTheOracle compares the matchers of placements with the oracle.
func TestMatchesAgreesWithTheOracle(t *testing.T) {
	s, state := newSmallRun(), enginetest.NewState()
	addEach(state, s.fleet.Sets)
	addEach(state, s.fleet.Clusters)
	addEach(state, s.created)
	for _, binding := range s.fleet.Bindings {
		state.Bind(binding.Namespace, binding.Spec.ClusterSet)
	}
	oracle, err := enginetest.NewOracle()
	if err != nil {
		t.Fatal(err)
	}
	all, err := clusterMatchers(s.fleet, s.created)
	if err != nil {
		t.Fatal(err)
	}
	chosen := 0
	for i, placement := range s.created {
		decided := oracle.Decide(state, fleet.Key{Namespace: placement.Namespace, Name: placement.Name})
		for _, cluster := range s.clusters {
			verdict := decided.Verdicts[cluster.Name]
			want := verdict == "Selected" || verdict == "Beaten" || verdict == "Tainted"
			if got := all[i].matches(cluster); got != want {
				t.Errorf("%s may select %s: %t, and the verdict of the oracle is %s", placement.Name, cluster.Name, got, verdict)
			}
			if want {
				chosen++
			}
		}
	}
	if chosen < len(s.created) {
		t.Errorf("%d clusters may be selected by %d placements, too few for a comparison", chosen, len(s.created))
	}
}

func addEach[T any](to *enginetest.State, items []T) {
	for _, item := range items {
		to.Add(any(item))
	}
}

func TestCountAffected(t *testing.T) {
	numbers := []clusterMatcher{{ranksByScores: true}, {}, {ranksByScores: true}}
	got := countAffected(numbers, 3, func(a clusterMatcher, i int) bool { return a.ranksByScores && i > 0 })
	if want := (affectedCount{placements: 2, times: 4}); got != want {
		t.Errorf("affected %+v, want %+v", got, want)
	}
}

func TestRelabelAffectsOldAndNewMatches(t *testing.T) {
	s := newSmallRun()
	c, err := relabelSome(t.Context(), s, 0)
	if err != nil {
		t.Fatal(err)
	}
	if c.writes != 2 || s.clusters[0].Labels[teamLabel] != s.clusters[1].Labels[teamLabel] {
		t.Errorf("%d clusters are relabelled, the first to %s, want 2 of 200, to the team of the next: %s",
			c.writes, s.clusters[0].Labels[teamLabel], s.clusters[1].Labels[teamLabel])
	}
	grown, err := growSet(t.Context(), s, 0)
	if err != nil {
		t.Fatal(err)
	}
	if grown.writes != 100 || grown.affected.placements == 0 || grown.affected.times < grown.affected.placements {
		t.Errorf("a set grows by %d clusters, which affects %+v, want half of 200 clusters and at least one affected placement", grown.writes,
			grown.affected)
	}
	again, err := growSet(t.Context(), s, 0)
	if err != nil {
		t.Fatal(err)
	}
	if again.writes >= 100 {
		t.Errorf("the set grows again by %d clusters, want the remaining clusters", again.writes)
	}
}

func TestSparesAreTakenOnce(t *testing.T) {
	s := newSmallRun()
	first, second := s.takeSpares(3), s.takeSpares(2)
	if len(first) != 3 || len(second) != 2 || first[2] == second[0] || len(s.created) != 45 || len(s.spare) != 5 {
		t.Errorf("taken %d and %d, placed %d, left %d", len(first), len(second), len(s.created), len(s.spare))
	}
	if s.created[40] != first[0] || s.fleet.Placements[40] != first[0] {
		t.Error("taken placements are not counted as created")
	}
}

func TestDecisionWrites(t *testing.T) {
	answered := hub.Requests{
		{Verb: "POST", Group: "g", Resource: "placementdecisions"}:                       2,
		{Verb: "PUT", Group: "g", Resource: "placementdecisions", Subresource: "status"}: 3,
		{Verb: "PATCH", Group: "g", Resource: "placementdecisions"}:                      2,
		{Verb: "PUT", Group: "g", Resource: "placements", Subresource: "status"}:         5,
		{Verb: "POST", Group: "g", Resource: "placements"}:                               100,
		{Verb: "LIST", Group: "g", Resource: "placementdecisions"}:                       100,
		{Verb: "POST", Group: "events.k8s.io", Resource: "events"}:                       7,
	}
	if got := decisionWrites(answered); got != 12 {
		t.Errorf("%v writes of decisions, want 12", got)
	}
	got := writesPerPlacement(answered, 6, 2)
	want := []bench.Figure{
		{Name: "writes, beside one a placement and three a slice", Unit: bench.Ratio, Value: 1, Detail: "12 for 6 placements and 2 slices"},
		{Name: "events per placement", Unit: bench.Ratio, Value: 7.0 / 6, Detail: "7"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

func TestRatioOfZeros(t *testing.T) {
	if got := []float64{ratio(0, 0), ratio(0, 2), ratio(3, 2)}; !cmp.Equal(got, []float64{0, 0, 1.5}) {
		t.Errorf("ratios are %v", got)
	}
	if got := ratio(1, 0); !math.IsNaN(got) {
		t.Errorf("a ratio to zero is %v, want no number", got)
	}
}

func TestGrowthIsFromTheSecondThirdToTheLast(t *testing.T) {
	var read []soakReading
	for i := range 9 {
		read = append(read, soakReading{resident: int64(i+1) << 20, goroutines: 10, latency: time.Millisecond})
	}
	got := map[string]float64{}
	for _, figure := range growth(read) {
		got[figure.Name] = figure.Value
	}
	want := map[string]float64{
		"memory, last third beside the second": 1.6, "goroutines, last third beside the second": 1,
		"a placement, p50, last third beside the second": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("growth (-want +got):\n%s", diff)
	}
}

func TestAtRateKeepsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done atomic.Int32
		stop := atRate(t.Context(), 20, func(context.Context, int, int) error { done.Add(1); return nil })
		time.Sleep(2*time.Second + time.Millisecond) // of the test's own clock
		if err := stop(); err != nil || done.Load() != 40 {
			t.Errorf("%d times in two seconds, error %v, want 40", done.Load(), err)
		}
	})
}

func TestAtRateReturnsTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := atRate(t.Context(), 20, func(context.Context, int, int) error { return errNotNoticed })
		time.Sleep(time.Second) // of the test's own clock
		if err := stop(); !errors.Is(err, errNotNoticed) {
			t.Errorf("error %v, want %v", err, errNotNoticed)
		}
	})
}
