package fleet

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// TestSnapshotsKeepTheirDecisions replaces decisions of a few placements, of few clusters and of many. It compares the
// decisions in each snapshot of a chain with the decisions that were stored.
func TestSnapshotsKeepTheirDecisions(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	type state struct {
		snapshot *Snapshot
		stored   map[Key][]Slice
	}
	states := []state{{Empty(), map[Key][]Slice{}}}
	for range 100 {
		last := states[len(states)-1]
		next := state{stored: maps.Clone(last.stored)}
		edit := last.snapshot.Edit()
		for range random.IntN(3) {
			key := Key{"ns", fmt.Sprintf("p%d", random.IntN(6))}
			if next.stored[key] = randomSlices(random); len(next.stored[key]) == 0 {
				delete(next.stored, key)
			}
			edit.SetSlices(key, next.stored[key])
		}
		next.snapshot = edit.Snapshot()
		states = append(states, next)
	}
	for step, state := range states {
		for n := range 6 {
			key := Key{"ns", fmt.Sprintf("p%d", n)}
			if diff := cmp.Diff(state.stored[key], state.snapshot.Slices(key)); diff != "" {
				t.Fatalf("after %d edits, slices of %s (-want +got):\n%s", step, key, diff)
			}
			checkUniqueNumbers(t, state.snapshot, key)
		}
		checkDecisionCounts(t, state.snapshot, state.stored)
	}
}

// randomSlices returns up to three slices in which a cluster may be twice.
func randomSlices(random *rand.Rand) []Slice {
	var out []Slice
	for n := range random.IntN(4) {
		slice := Slice{Number: n + 1, Group: "g", GroupIndex: n, Strategy: "s", Clusters: []string{}}
		for range random.IntN(100) {
			slice.Clusters = append(slice.Clusters, fmt.Sprintf("c%d", random.IntN(90)*random.IntN(30)))
		}
		out = append(out, slice)
	}
	return out
}

// checkUniqueNumbers compares the incumbents of a placement with its slices.
func checkUniqueNumbers(t *testing.T, s *Snapshot, key Key) {
	t.Helper()
	var want, got []string
	for _, slice := range s.Slices(key) {
		want = append(want, slice.Clusters...)
	}
	slices.Sort(want)
	for id := range s.Incumbents(key).All() {
		got = append(got, s.Name(id))
	}
	slices.Sort(got)
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Fatalf("incumbents of %s (-want +got):\n%s", key, diff)
	}
}

// checkDecisionCounts compares the decision count of each cluster with the stored decisions, and the maximum with and
// without one placement.
func checkDecisionCounts(t *testing.T, s *Snapshot, stored map[Key][]Slice) {
	t.Helper()
	chosen := map[string]int{}
	for key := range stored {
		for id := range s.Incumbents(key).All() {
			chosen[s.Name(id)]++
		}
	}
	for name, want := range chosen {
		if id, _ := s.ID(name); s.DecisionCount(id) != want {
			t.Fatalf("%s has the decision count %d, want %d", name, s.DecisionCount(id), want)
		}
	}
	most := func() int { return slices.Max(append(slices.Collect(maps.Values(chosen)), 0)) }
	if got := s.MaxDecisionCount(IDSet{}); got != most() {
		t.Fatalf("the maximum decision count is %d, want %d", got, most())
	}
	except := s.Incumbents(Key{"ns", "p0"})
	for id := range except.All() {
		chosen[s.Name(id)]--
	}
	if got := s.MaxDecisionCount(except); got != most() {
		t.Fatalf("without one placement, the maximum decision count is %d, want %d", got, most())
	}
}

// TestTotalSelected counts a cluster once, and none that does not exist.
func TestTotalSelected(t *testing.T) {
	edit := Empty().Edit()
	for _, name := range []string{"c1", "c2", "c3", "c4"} {
		edit.SetManagedCluster(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil)
	}
	for key, clusters := range map[Key][]string{
		{"a", "p"}: {"c1", "c2", "gone"}, {"a", "q"}: {"c2"}, {"b", "p"}: {"c1", "c2", "c3"}, {"c", "p"}: nil,
	} {
		edit.SetSlices(key, []Slice{{Clusters: clusters}})
	}
	if got := edit.Snapshot().TotalSelected(); got != 3 {
		t.Errorf("%d clusters are selected, want 3", got)
	}
}
