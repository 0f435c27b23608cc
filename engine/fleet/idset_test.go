package fleet

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bits-and-blooms/bitset"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "github.com/berth-project/berth/api/cluster/v1"
)

// TestIDSetAgreesWithAMap grows a set, shrinks it again and compares it with a map on the way.
func TestIDSetAgreesWithAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var set IDSet
	members := map[ID]bool{}
	for step := range 8 * maxSingly {
		id := random.UintN(4 * maxSingly)
		if grows := step < 4*maxSingly; random.IntN(8) > 0 == grows {
			set.add(id)
			members[id] = true
		} else {
			set.remove(id)
			delete(members, id)
		}
		if step%16 == 0 {
			compareWithMap(t, set, members)
		}
	}
	for id := range members {
		set.remove(id)
	}
	compareWithMap(t, set, nil)
}

func compareWithMap(t *testing.T, set IDSet, members map[ID]bool) {
	t.Helper()
	want := slices.Sorted(maps.Keys(members))
	if diff := cmp.Diff(want, slices.Collect(set.All())); diff != "" || set.Count() != len(want) {
		t.Fatalf("%d IDs in a set of %d (-want +got):\n%s", set.Count(), len(want), diff)
	}
	third, kept, rest := &bitset.BitSet{}, map[ID]bool{}, map[ID]bool{}
	all := maps.Clone(members)
	for id := ID(0); id < 5*maxSingly; id += 3 {
		third.Set(id)
		if all == nil {
			all = map[ID]bool{}
		}
		all[id] = true
		if members[id] {
			kept[id] = true
		} else {
			rest[id] = true
		}
		if set.Has(id) != members[id] {
			t.Fatalf("a set of %d has %d: %v", len(want), id, set.Has(id))
		}
	}
	for name, tc := range map[string]struct {
		by   func(bits *bitset.BitSet)
		want map[ID]bool
	}{
		"AddTo": {set.AddTo, all}, "IntersectInto": {set.IntersectInto, kept}, "RemoveFrom": {set.RemoveFrom, rest},
		"BitSet": {func(out *bitset.BitSet) { *out = *set.BitSet() }, members},
	} {
		got := third.Clone()
		tc.by(got)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(tc.want)), slices.Collect(got.EachSet())); diff != "" {
			t.Fatalf("%s of a set of %d (-want +got):\n%s", name, len(want), diff)
		}
	}
	set.BitSet().ClearAll()
	if set.Count() != len(want) {
		t.Fatalf("a set of %d has %d once its bits are cleared", len(want), set.Count())
	}
}

// TestOldSnapshotsKeepTheirTerms adds a label to all clusters and removes it again, and reads all snapshots in the end.
func TestOldSnapshotsKeepTheirTerms(t *testing.T) {
	const most = 2 * maxSingly
	labelled := TermKey(Label, "l")
	snapshots := []*Snapshot{Empty()}
	set := func(n int, labels map[string]string) {
		edit := snapshots[len(snapshots)-1].Edit()
		edit.SetCluster(NewCluster(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c%d", n), Labels: labels}}))
		snapshots = append(snapshots, edit.Snapshot())
	}
	for n := range most {
		set(n, map[string]string{"l": ""})
	}
	for n := range most {
		set(n, nil)
	}
	for step, s := range snapshots {
		first, end := max(0, step-most), min(step, most)
		for n := range most {
			id, known := s.ID(fmt.Sprintf("c%d", n))
			if got, want := known && s.ClustersWith(labelled).Has(id), first <= n && n < end; got != want {
				t.Fatalf("after %d edits, c%d has the label: %v", step, n, got)
			}
		}
		if got := s.ClustersWith(labelled).Count(); got != end-first {
			t.Fatalf("after %d edits, %d have the label, want %d", step, got, end-first)
		}
	}
}
