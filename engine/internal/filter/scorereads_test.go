package filter_test

import (
	"testing"
	"time"

	"github.com/bits-and-blooms/bitset"
	"github.com/google/go-cmp/cmp"

	clusterv1beta1 "github.com/berth-project/berth/api/cluster/v1beta1"
	"github.com/berth-project/berth/engine/enginetest"
	"github.com/berth-project/berth/engine/fleet"
	"github.com/berth-project/berth/engine/internal/filter"
)

func TestScoreReadsOfExpressions(t *testing.T) {
	now := enginetest.Epoch
	reads := func(resource string) string { return `managedCluster.scores("` + resource + `").size() > 0` }
	for name, tc := range map[string]struct {
		predicates, tiers []string
		want              map[string]int
		until             time.Time
	}{
		"nothing":                           {predicates: []string{`true`}, want: map[string]int{}},
		"a score without an end":            {predicates: []string{reads("endless")}, want: map[string]int{}},
		"a score that no cluster has":       {predicates: []string{reads("none") + ` || true`}, want: map[string]int{}},
		"the earliest end on any cluster":   {predicates: []string{reads("load")}, want: map[string]int{}, until: now.Add(time.Minute + 1)},
		"a score that ends at this instant": {predicates: []string{reads("now")}, want: map[string]int{}, until: now.Add(1)},
		"an expired score, on each cluster": {predicates: []string{reads("stale") + ` || true`}, want: map[string]int{"stale": 2}},
		"a cluster once, however often its score is read": {
			predicates: []string{reads("stale") + ` || ` + reads("stale") + ` || true`}, tiers: []string{reads("stale") + ` || true`},
			want: map[string]int{"stale": 2},
		},
		"a tier counts like a predicate": {
			tiers: []string{reads("half"), `managedCluster.scores("load").size() == 0`}, want: map[string]int{"half": 1},
			until: now.Add(2*time.Minute + 1),
		},
		"nothing after an operand that decides the result": {predicates: []string{`true || ` + reads("stale")}, want: map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := placement()
			for _, text := range tc.predicates {
				p.CEL(text)
			}
			placement := p.Obj()
			for i, text := range tc.tiers {
				placement.Spec.Tiers = append(placement.Spec.Tiers, clusterv1beta1.ClusterTier{
					Name:            string(rune('a' + i)),
					ClusterSelector: byCEL(text),
				})
			}
			score := func(cluster, resource string, until time.Time) any {
				return enginetest.Score(cluster, resource).Value("x", 1).ValidUntil(until).Obj()
			}
			w := enginetest.NewState(placement, enginetest.Cluster("a").Obj(), enginetest.Cluster("b").Obj(),
				enginetest.Score("a", "endless").Value("x", 1).Obj(), score("b", "now", now),
				score("a", "load", now.Add(time.Hour)), score("b", "load", now.Add(time.Minute)),
				score("a", "half", now.Add(-1)), score("b", "half", now.Add(2*time.Minute)),
				score("a", "stale", now.Add(-time.Hour)), score("b", "stale", now.Add(-1)))
			s := w.Snapshot()
			compiled := enginetest.Program(t, w)
			matched := filter.Predicates(compiled, s.ClustersWith(fleet.TermExists).BitSet(),
				filter.MissingHold{Snapshot: s, Incumbents: &bitset.BitSet{}})
			tiered := filter.Tiers(compiled, &matched, matched.In.Clone(), &bitset.BitSet{})
			if diff := cmp.Diff(tc.want, countClusters(filter.Expired(&matched.ScoreReads, &tiered.ScoreReads))); diff != "" {
				t.Errorf("expired (-want +got):\n%s", diff)
			}
			until := matched.ScoreReads.Until
			if len(tc.tiers) > 0 {
				until = tiered.ScoreReads.Until
			}
			if !until.Equal(tc.until) {
				t.Errorf("until %v, want %v", until, tc.until)
			}
		})
	}
}

func TestScoreReadsOfRemovedClustersAreDropped(t *testing.T) {
	placement := placement().CEL(`managedCluster.metadata.name != "a" || managedCluster.scores("r").size() > 0 || true`).Obj()
	placement.Spec.Tiers = []clusterv1beta1.ClusterTier{{Name: "t", ClusterSelector: byCEL(`managedCluster.scores("r").size() > 0 || true`)}}
	w := enginetest.NewState(placement)
	for _, name := range []string{"a", "b", "c"} {
		w.Add(enginetest.Cluster(name).Obj()).Add(enginetest.Score(name, "r").ValidUntil(enginetest.Epoch.Add(-1)).Obj())
	}
	s, p := w.Snapshot(), enginetest.Program(t, w)
	matched := filter.Predicates(p, s.ClustersWith(fleet.TermExists).BitSet(), filter.MissingHold{Snapshot: s, Incumbents: &bitset.BitSet{}})
	tiered := filter.Tiers(p, &matched, matched.In.Clone(), &bitset.BitSet{})
	gone := &bitset.BitSet{}
	for _, name := range []string{"a", "b"} {
		id, _ := s.ID(name)
		gone.Set(id)
	}
	for name, tc := range map[string]struct {
		gone *bitset.BitSet
		want map[string]int
	}{
		"no cluster": {&bitset.BitSet{}, map[string]int{"r": 3}},
		"a, which read the score in a predicate, and b, which did not": {gone, map[string]int{"r": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, countClusters(filter.Expired(&matched.ScoreReads, tiered.ScoreReads.Without(tc.gone)))); diff != "" {
				t.Errorf("expired (-want +got):\n%s", diff)
			}
		})
	}
}

// countClusters counts the clusters of each resource.
func countClusters(expired map[string]*bitset.BitSet) map[string]int {
	out := map[string]int{}
	for resource, clusters := range expired {
		out[resource] = int(clusters.Count())
	}
	return out
}
